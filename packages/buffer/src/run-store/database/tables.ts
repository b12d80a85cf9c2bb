/** The tables of a run store, as kysely sees them. Times are milliseconds of the lease clock. */
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

/** What is counted here would else be counted over all rows, or over rows that are gone. */
interface RunRow {
  id: Generated<number>;
  name: string;
  /** Checksum and JSON; null: made by an earlier version, or by a process that claims none. */
  identity: Generated<string | null>;
  /** Epoch of the last join. */
  epoch: Generated<number>;
  planned_step: Generated<number>;
  /** Epoch of the member that has planned it. */
  planner: Generated<number>;
  feed: string | null;
  feed_checksum: number | null;
  is_last: Generated<number>;
  /** Id of the last batch. */
  batches: Generated<number>;
  /** Place of the batch that became complete last. */
  completed: Generated<number>;
  end_step: number | null;
  pruned_step: Generated<number>;
  pruned_trained: Generated<number>;
  /** Counts by reason, as JSON. */
  pruned_discarded: Generated<string>;
}

export interface MemberRow {
  run: number;
  name: string;
  role: string;
  /** Negative once the member has left or was replaced: nothing is written with it any more. */
  epoch: number;
  /** Distinguishes a join that is repeated, its answer being lost, from that of another process. */
  token: string;
  host: string;
  pid: number;
  beat_at: number;
  state: string;
  delivery: string | null;
  /** Agreement as JSON; null: none. */
  agreement: string | null;
  /** How many of its calls have leased something. */
  lease_calls: number;
}

export interface BatchRow {
  run: number;
  /** Rises with the explore step. */
  id: number;
  name: string;
  step: number;
  is_eval: number;
  version: number | null;
  /** Tasks without a result. */
  open: number;
  /** 1: it does not wait for tasks that have none. */
  is_cut: Generated<number>;
  completed: number | null;
  is_pruned: Generated<number>;
  /** Checksum of its plan and tasks, which never change; null: planned by an earlier version. */
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
  /** Epoch of the member that works on it or has done it. */
  owner: number | null;
  /** Index of that member's call that leased it, from 0, not counting those that leased nothing. */
  lease_call: number | null;
  explorer: string | null;
  outcome: string | null;
  checksum: number | null;
  done_at: number | null;
}

/** A result that arrived after the task was leased to another worker. */
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

/** A run of which the reward is to come. */
interface AwaitedRow {
  run: number;
  run_key: string;
  batch: number;
  /** Milliseconds since the epoch: days may pass, and machines restart. */
  since: number;
}

interface RewardRow {
  run: number;
  run_key: string;
  batch: number;
  /** Null: it was given up. */
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
  /** Why it was discarded; null: it was trained on. */
  reason: string | null;
  /** 1: it may be used again. */
  is_kept: number;
}

export interface WeightsRow {
  run: number;
  version: number;
  /** -1: none. */
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
