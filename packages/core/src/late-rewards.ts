/** Interface of the store for rollouts whose rewards come from outside the process. */
import type { Experience } from './experience.js';

export interface PendingRun {
  /** Run key: `batch/task/run`. */
  readonly run: string;
  /**
   * Reward of the rollout. Undefined if the rollout still waits for its reward, or timed out
   * waiting for it.
   */
  readonly reward: number | undefined;
  /** Time at which the rollout stops waiting, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Experiences of the rollout, without rewards. */
  readonly experiences: readonly Experience[];
}

/** The rollouts of one task, of which at least one waits for its reward. */
export interface PendingGroup {
  /** Task key: `batch/task`. */
  readonly task: string;
  /** Explore step. */
  readonly step: number;
  readonly runs: readonly PendingRun[];
}

/**
 * Result of storing a reward. `unknown`: no rollout with that key waits for a reward. `scored`: the
 * rollout already has another reward. `late`: the rollout no longer waits. `unusable`: the value is
 * not a reward. A store that several processes share returns `late` instead of `scored`.
 */
export type RewardReceipt = 'stored' | 'unknown' | 'scored' | 'late' | 'unusable';

/** Store of rollouts that wait for rewards. Other processes may also store rewards. */
export interface LateRewards {
  /** Stores the reward of a rollout. Storing the same reward again changes nothing. */
  readonly score: (run: string, reward: number) => RewardReceipt;
  /** Returns the rollouts that still have no reward, in order. */
  waiting(): readonly Pick<PendingRun, 'run' | 'deadline'>[];
  /** Adds groups. Their rollouts accept rewards only after {@link commit}. */
  add(groups: readonly PendingGroup[]): void;
  /**
   * Returns the groups in which every rollout has a reward or has passed its deadline, in order.
   */
  due(now: number): readonly PendingGroup[];
  /**
   * Lets the groups of explore steps up to `step` accept rewards if `waiting` lists their task
   * keys, and closes the other groups of these steps. Deletes the groups of later steps, because
   * these steps will be repeated. Must be called after the explorer's state was stored, and again
   * after the state was read.
   */
  commit(step: number, waiting: readonly string[]): void;
  close(): Promise<void>;
}
