/** Record of every call, from its response until its reward is committed. */
import type { Experience } from '@trinity-rft/core';

/** A finished call, before its client has received the end of the response. */
export interface ServedCall {
  /** Id of the completion or response that the client receives. */
  readonly msgId: string;
  /** Session whose conversation the call belongs to. */
  readonly session: string;
  /** Experiences, one per choice, in order. */
  readonly experiences: readonly Experience[];
}

/** One request to `/feedback`. */
export interface Feedback {
  /** A finite number from -1e9 to 1e9. */
  readonly reward: number;
  /**
   * `ID` for all choices of a call, `ID:CHOICE` for one of them, counted from 0. At least one id.
   */
  readonly msgIds: readonly string[];
  /**
   * Task that the calls belong to. Calls of the same task are compared with each other.
   * @default each call is a separate task
   */
  readonly taskId?: string;
  /** Number of the attempt at the task, from 0. */
  readonly runId: number;
}

export interface FeedbackResult {
  /** Ids as written in the request. */
  readonly applied: readonly string[];
  /** Ids that already had the same reward, task and run; they are unchanged. */
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
  /** Experience as recorded. */
  readonly experience: Experience;
}

/** Rewarded calls that are added to the experience store together, under one number. */
export interface Batch {
  readonly step: number;
  /** Rewarded calls in the order in which they were served. */
  readonly calls: readonly RewardedCall[];
}

/** Counts of choices: `total` = `open` + `ready` + `committed`. */
export interface TurnCounts {
  readonly total: number;
  /** Choices without a reward. */
  readonly open: number;
  /** Choices that are rewarded but not committed, including those of a commit in progress. */
  readonly ready: number;
  readonly committed: number;
}

/**
 * Served calls and their rewards. Methods take effect in the order in which they are called, and
 * are atomic: once a method has resolved, its effect is permanent; if a method rejects, nothing has
 * changed. All methods reject with BufferError `SERVE_CLOSED` after {@link close}, and with the
 * reason of {@link failed} after a failure.
 */
export interface TurnStore {
  /** Number of times the store has been opened, including this one. */
  readonly starts: number;
  /**
   * Signal that aborts, with the error as its reason, when the store's thread has died
   * (`SERVE_THREAD`) or cannot write (`SERVE_STORAGE`).
   */
  readonly failed: AbortSignal;
  /**
   * Records a call. Resolves when the call survives the end of the process, without waiting for the
   * disk: a power failure may lose the most recent calls. A call with a known id is ignored.
   * @throws InvariantError, BufferError
   */
  record(call: ServedCall): Promise<void>;
  sessionOf(msgId: string): Promise<string | undefined>;
  /**
   * Rewards all ids or none.
   * @throws ModelError 404 naming unknown ids, 409 naming ids with a different reward, task or run
   */
  reward(feedback: Feedback): Promise<FeedbackResult>;
  /**
   * Puts all ready calls that are not in a batch into batch `step`, and returns it, or undefined if
   * there are none.
   */
  startBatch(step: number): Promise<Batch | undefined>;
  /** Returns the batch that was started but not finished, or undefined if there is none. */
  unfinishedBatch(): Promise<Batch | undefined>;
  /**
   * Marks the batch as stored in the experience store, and deletes the recorded experiences of its
   * calls.
   */
  finishBatch(step: number): Promise<void>;
  /** Returns the number of the last finished batch, or 0 if there is none. */
  lastStep(): Promise<number>;
  counts(): Promise<TurnCounts>;
  /** Waits for earlier calls, then ends the thread. */
  close(): Promise<void>;
}
