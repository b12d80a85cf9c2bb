/** Groups of runs that wait for rewards from outside the process, by the id of a run. */
import type { Experience } from './experience.js';

export interface PendingRun {
  /** `batch/task/run` */
  readonly run: string;
  /** Reward of a run that the workflow has scored itself. Undefined: it waits. */
  readonly reward: number | undefined;
  /** When it has waited long enough, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Excludes rewards. */
  readonly experiences: readonly Experience[];
}

/** The runs of a task, at least one of which waits. */
export interface PendingGroup {
  /** `batch/task` */
  readonly task: string;
  /** Explore step. */
  readonly step: number;
  readonly runs: readonly PendingRun[];
}

/** A group that waits no longer; a run without a reward timed out waiting for it. */
export interface DueGroup extends Omit<PendingGroup, 'runs'> {
  readonly runs: readonly Pick<PendingRun, 'run' | 'reward' | 'experiences'>[];
}

export interface LateRewards {
  /** Adds groups; they cannot be scored before they are committed. */
  add(groups: readonly PendingGroup[]): void;
  /** Groups whose runs all have a reward, or have waited until their deadlines, in order. */
  due(now: number): readonly DueGroup[];
  /**
   * After the explorer's state was stored, and when it is read again: of the groups up to explore
   * step `step` those of the tasks `waiting` are open for rewards, and the others are over. Later
   * ones are forgotten: their step is made again.
   */
  commit(step: number, waiting: readonly string[]): void;
  close(): Promise<void>;
}
