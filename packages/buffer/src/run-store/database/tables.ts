/**
 * Types of the tables of a run store, for kysely. Times are milliseconds of the lease clock, unless
 * stated otherwise.
 */
import type { Generated } from 'kysely';

export interface Tables {
  run: RunRow;
  member: MemberRow;
  batch: BatchRow;
  task: TaskTableRow;
  late: LateRow;
  experience: ExperienceRow;
  awaited: AwaitedRow;
  reward: RewardRow;
  train_step: TrainStepRow;
  use: UseRow;
  weights: WeightsRow;
  file: FileRow;
}

/**
 * A training run. The row has counters, because counting all rows would be slow and some rows have
 * been deleted.
 */
interface RunRow {
  id: Generated<number>;
  name: string;
  /**
   * Checksum and JSON of the identity; null if an earlier version, or a process without a claim,
   * created the training run.
   */
  identity: Generated<string | null>;
  /** Epoch of the last join. */
  epoch: Generated<number>;
  planned_step: Generated<number>;
  /** Epoch of the worker that planned the last step. */
  planner: Generated<number>;
  feed: string | null;
  feed_checksum: number | null;
  /** 1 if an earlier version planned the last step. Only the checksum of the feed covers it. */
  is_last: Generated<number>;
  /** Id of the last batch. */
  batches: Generated<number>;
  /** Position of the last completed batch in the order of completion. */
  completed: Generated<number>;
  end_step: number | null;
  pruned_step: Generated<number>;
  pruned_trained: Generated<number>;
  /** Number of deleted experiences that had been discarded, by reason, as JSON. */
  pruned_discarded: Generated<string>;
}

export interface MemberRow {
  run: number;
  name: string;
  role: string;
  /**
   * Epoch of the membership. Negative after the worker has left or was replaced, so that its writes
   * are refused.
   */
  epoch: number;
  /**
   * Random string that identifies a join. It distinguishes a retry, made because the first response
   * was lost, from a join by another process.
   */
  token: string;
  host: string;
  pid: number;
  beat_at: number;
  state: string;
  delivery: string | null;
  /** Agreement as JSON; null if there is none. */
  agreement: string | null;
  /** Number of the worker's calls that leased tasks. */
  lease_calls: number;
}

export interface BatchRow {
  run: number;
  /** Id of the batch, which increases with the explore step. */
  id: number;
  name: string;
  step: number;
  is_eval: number;
  version: number | null;
  /** Number of tasks that are open or leased. */
  open: number;
  /** 1 if the batch was cut off and so does not wait for its unfinished tasks. */
  is_cut: Generated<number>;
  completed: number | null;
  is_pruned: Generated<number>;
  /**
   * Checksum of the batch's plan and tasks, which never change. Null if an earlier version planned
   * the batch.
   */
  checksum: number | null;
}

export const taskState = { open: 0, leased: 1, done: 2 } as const;

export interface TaskTableRow {
  run: number;
  batch: number;
  task: number;
  step: number;
  taskset: string;
  row_number: number;
  state: Generated<number>;
  /** Epoch of the worker that leased or finished the task; null for open and cut-off tasks. */
  owner: number | null;
  /**
   * Index, from 0, of the worker's call that leased the task. Only calls that leased tasks are
   * counted.
   */
  lease_call: number | null;
  explorer: string | null;
  outcome: string | null;
  checksum: number | null;
  done_at: number | null;
}

/** A result that arrived after the task was leased to another explorer or cut off. */
interface LateRow {
  run: number;
  batch: number;
  task: number;
  epoch: number;
}

export interface ExperienceRow {
  run: number;
  uid: string;
  batch: number;
  task: number;
  place: number;
  policy_version: number;
  bytes: Uint8Array;
  checksum: number;
}

/** A rollout whose reward has not arrived yet. */
interface AwaitedRow {
  run: number;
  run_key: string;
  batch: number;
  /**
   * Start of the wait, in milliseconds since the Unix epoch. The lease clock is not used, because a
   * wait may last for days and machines may restart.
   */
  since: number;
}

interface RewardRow {
  run: number;
  run_key: string;
  batch: number;
  /** Reward; null if the wait for the reward was ended. */
  value: number | null;
  checksum: number;
}

interface TrainStepRow {
  run: number;
  train_step: number;
  epoch: number;
  checksum: number;
  at: number;
}

export interface UseRow {
  run: number;
  train_step: number;
  place: number;
  uid: string;
  /** Reason for discarding the experience; null if it was trained on. */
  reason: string | null;
  /** 1 if the experience may be used again. */
  is_kept: number;
}

export interface WeightsRow {
  run: number;
  version: number;
  /** -2 for the weights of the final evaluation, otherwise -1. */
  boundary: number;
  explored_up_to: number;
  location: string;
  digest: string;
  probe: string;
}

interface FileRow {
  run: number;
  version: number;
  path: string;
  chunk: number;
  bytes: Uint8Array;
  checksum: number;
}
