/** Groups of runs that wait for rewards from outside the process. */
import type { Experience } from './experience.js';

export interface PendingRun {
  /** Run key: `batch/task/run`. */
  readonly run: string;
  /**
   * Reward of the run; undefined if the run waits for its reward, or has timed out waiting for it.
   */
  readonly reward: number | undefined;
  /** Time at which the wait ends, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Experiences of the run, without rewards. */
  readonly experiences: readonly Experience[];
}

/** The runs of one task, at least one of which waits for its reward. */
export interface PendingGroup {
  /** Task key: `batch/task`. */
  readonly task: string;
  /** Explore step. */
  readonly step: number;
  readonly runs: readonly PendingRun[];
}

/**
 * Result of storing a reward: `unknown` if no run with that key waits for a reward, `scored` if the
 * run already has another reward, `late` if the run no longer waits, `unusable` if the value is not
 * a reward. A store that several processes share returns `late` instead of `scored`.
 */
export type RewardReceipt = 'stored' | 'unknown' | 'scored' | 'late' | 'unusable';

/** Runs that wait for rewards; other processes may also store rewards. */
export interface LateRewards {
  /** Stores the reward of a run; storing the same reward again changes nothing. */
  readonly score: (run: string, reward: number) => RewardReceipt;
  /** Runs without a reward, in order. */
  waiting(): readonly Pick<PendingRun, 'run' | 'deadline'>[];
  /** Adds groups. They can be scored only after {@link commit}. */
  add(groups: readonly PendingGroup[]): void;
  /** Groups whose runs all have a reward or have passed their deadlines, in order. */
  due(now: number): readonly PendingGroup[];
  /**
   * Called after the explorer's state was stored, and again when the state is read. Groups up to
   * explore step `step` are open for rewards if `waiting` lists their task, and are closed
   * otherwise. Groups of later steps are deleted, because those steps are repeated.
   */
  commit(step: number, waiting: readonly string[]): void;
  close(): Promise<void>;
}
