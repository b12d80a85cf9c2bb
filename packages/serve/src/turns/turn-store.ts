/** Record of every call, from its answer until its reward is committed. */
import type { Experience } from '@trinity-rft/core';

/** A finished call, before its client gets the answer. */
export interface ServedCall {
  /** The id of the completion or response that the client gets. */
  readonly msgId: string;
  /** The session whose conversation it belongs to. */
  readonly session: string;
  /** One per choice, in order. */
  readonly experiences: readonly Experience[];
}

/** One request to `/feedback`. */
export interface Feedback {
  /** Finite. */
  readonly reward: number;
  /** `ID` for all choices of a call, `ID:CHOICE` for one of them, from 0. At least one. */
  readonly msgIds: readonly string[];
  /** Calls with the same task are compared. @default each call is a separate task */
  readonly taskId?: string;
  /** Attempt at the task, from 0. */
  readonly runId: number;
}

export interface FeedbackResult {
  /** Ids as in the request. */
  readonly applied: readonly string[];
  /** Ids that already had the same reward, task and run: unchanged. */
  readonly already: readonly string[];
}

/** A rewarded choice. */
export interface RewardedCall {
  readonly msgId: string;
  readonly choice: number;
  readonly session: string;
  readonly reward: number;
  readonly task: string;
  readonly run: number;
  /** Experience as it was recorded. */
  readonly experience: Experience;
}

/** Rewarded calls that enter the experience store together, under one number. */
export interface Batch {
  readonly step: number;
  /** In the order in which they were served. */
  readonly calls: readonly RewardedCall[];
}

/** Counts of choices. `total` = `open` + `ready` + `committed`. */
export interface TurnCounts {
  readonly total: number;
  /** Turns without a reward. */
  readonly open: number;
  /** Rewarded but not committed, including a commit in progress. */
  readonly ready: number;
  readonly committed: number;
}

/**
 * Methods take effect in the order of their calls, and are atomic: once one has resolved, its
 * effect is permanent; if it rejects, nothing has changed. All reject with BufferError
 * `SERVE_CLOSED` after {@link close}, and with the reason of {@link failed} after a failure.
 */
export interface TurnStore {
  /** How often the store has been opened, including this time. */
  readonly starts: number;
  /**
   * Aborts, with the error as its reason, when the store's thread has died (`SERVE_THREAD`) or
   * cannot write (`SERVE_STORAGE`).
   */
  readonly failed: AbortSignal;
  /**
   * Resolves when the call survives the end of the process, without waiting for the disk: a power
   * failure may lose the calls of the last moment. A known id changes nothing.
   * @throws InvariantError, BufferError
   */
  record(call: ServedCall): Promise<void>;
  sessionOf(msgId: string): Promise<string | undefined>;
  /**
   * Applies to all ids or none.
   * @throws ModelError 404 naming unknown ids, 409 naming ids with a different reward, task or run
   */
  reward(feedback: Feedback): Promise<FeedbackResult>;
  /** All ready calls that are in no batch become batch `step`; undefined when there are none. */
  startBatch(step: number): Promise<Batch | undefined>;
  /** The batch that was started and not finished. */
  unfinishedBatch(): Promise<Batch | undefined>;
  /** The batch is in the experience store: only ids and rewards of its calls are kept. */
  finishBatch(step: number): Promise<void>;
  /** Number of the last finished batch, 0 before the first. */
  lastStep(): Promise<number>;
  counts(): Promise<TurnCounts>;
  /** Waits for earlier calls, then ends the thread. */
  close(): Promise<void>;
}
