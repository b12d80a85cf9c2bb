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
 * A training run. Some columns are counters, because counting rows would be slow, and because some
 * of the rows have been deleted.
 */
interface RunRow {
  id: Generated<number>;
  name: string;
  /**
   * Checksum and JSON of the identity; null if an earlier version, or a process without a claim,
   * created the training run.
   */
  identity: Generated<string | null>;
  /** Epoch of the most recent join. Each join of a worker gets the next number. */
  epoch: Generated<number>;
  planned_step: Generated<number>;
  /** Epoch of the worker that planned the most recent explore step. */
  planner: Generated<number>;
  feed: string | null;
  feed_checksum: number | null;
  /**
   * 1 if an earlier version stored that the most recent explore step is the last one. Only read
   * because the checksum of the feed includes it.
   */
  is_last: Generated<number>;
  /** Id of the most recent batch. */
  batches: Generated<number>;
  /** Position of the most recently completed batch in the order of completion. */
  completed: Generated<number>;
  end_step: number | null;
  pruned_step: Generated<number>;
  pruned_trained: Generated<number>;
  /**
   * Number of deleted experiences that had been discarded without training. JSON object, keyed by
   * reason.
   */
  pruned_discarded: Generated<string>;
}

export interface MemberRow {
  run: number;
  name: string;
  role: string;
  /**
   * Epoch of the membership. It becomes negative when the worker leaves or is replaced, so that
   * later writes by the worker are refused.
   */
  epoch: number;
  /**
   * Random string that identifies a join. If the response to a join is lost and the join is
   * retried, the token distinguishes the retry from a join by another process.
   */
  token: string;
  host: string;
  pid: number;
  beat_at: number;
  state: string;
  delivery: string | null;
  /** Settings that all workers must share, as JSON. Null if there are none. */
  agreement: string | null;
  /**
   * Number of calls by which the worker has leased tasks. Calls that got no task are not counted.
   */
  lease_calls: number;
}

export interface BatchRow {
  run: number;
  /** Id of the batch. Ids increase with the explore step. */
  id: number;
  name: string;
  step: number;
  is_eval: number;
  version: number | null;
  /** Number of tasks that are open or leased. */
  open: number;
  /** 1 if the batch was cut off, so that it no longer waits for its unfinished tasks. */
  is_cut: Generated<number>;
  completed: number | null;
  is_pruned: Generated<number>;
  /**
   * Checksum of the batch's plan and of its tasks. Neither changes after planning. Null if an
   * earlier version planned the batch.
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
  /**
   * Epoch of the worker that leased or finished the task. Null for tasks that are open or were cut
   * off.
   */
  owner: number | null;
  /**
   * Index, from 0, of the call by which the worker leased the task. Calls that got no task are not
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
   * Start of the wait, in milliseconds since the Unix epoch. This is not the time of the lease
   * clock, because the wait may last for days, and restarts of a machine reset that clock.
   */
  since: number;
}

interface RewardRow {
  run: number;
  run_key: string;
  batch: number;
  /** Reward. Null if the wait ended without a reward. */
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
  /** -2 for the weights of the final evaluation, and -1 for all others. */
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
