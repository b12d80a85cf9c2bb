/** Stores every call, from the moment when its response is ready until its reward is committed. */
import type { Experience } from '@trinity-rft/core';

/** A finished call. It is recorded before the client has received the end of the response. */
export interface ServedCall {
  /** Id of the completion or response that the client receives. */
  readonly msgId: string;
  /** Session to which the conversation of the call belongs. */
  readonly session: string;
  /** Experiences of the call, one for each choice and in the order of the choices. */
  readonly experiences: readonly Experience[];
}

/** Contents of a request to `POST /feedback`. */
export interface Feedback {
  /** Reward of the calls, a finite number from -1e9 to 1e9. */
  readonly reward: number;
  /**
   * Ids of the calls, at least one. `ID` names all choices of a call, and `ID:CHOICE` one of them,
   * counted from 0.
   */
  readonly msgIds: readonly string[];
  /**
   * Task that the calls belong to. Calls of the same task are compared with each other.
   * @default undefined: each call is a separate task
   */
  readonly taskId?: string;
  /**
   * Number of the attempt at the task, from 0. Calls with the same number are one attempt.
   * @default undefined: a call whose prompt begins with all tokens of another call of its session belongs
   * to the same attempt; every other call is an attempt of its own
   */
  readonly runId?: number;
}

export interface FeedbackResult {
  /** Ids that were rewarded by this request, as written in the request. */
  readonly applied: readonly string[];
  /** Ids that already had the same reward, task and run. They were not changed. */
  readonly already: readonly string[];
}

/** A choice of a call, with its reward. */
export interface RewardedCall {
  readonly msgId: string;
  readonly choice: number;
  readonly session: string;
  readonly reward: number;
  readonly task: string;
  /** Number of the attempt at the task; undefined if the client has given none. */
  readonly run: number | undefined;
  /** Experience as it was recorded, without the reward. */
  readonly experience: Experience;
}

/** Rewarded calls that are added to the experience store together. They share the number `step`. */
export interface Batch {
  readonly step: number;
  /** Rewarded calls in the order in which they were served. */
  readonly calls: readonly RewardedCall[];
}

/** Numbers of choices by state, where `total` = `open` + `ready` + `committed`. */
export interface TurnCounts {
  readonly total: number;
  /** Number of choices without a reward. */
  readonly open: number;
  /**
   * Number of choices with a reward that are not committed, including those of a commit in
   * progress.
   */
  readonly ready: number;
  readonly committed: number;
}

/**
 * Stores served calls and their rewards. Methods take effect in the order in which they are called.
 * They are atomic: once a method has resolved, its effect is permanent, and if a method rejects,
 * nothing has changed. All methods reject with BufferError `SERVE_CLOSED` after {@link close}, and
 * with the reason of the signal {@link failed} once it has aborted.
 */
export interface TurnStore {
  /** Number of times the store has been opened, including this one. */
  readonly starts: number;
  /**
   * Signal that aborts when the store's thread has died (`SERVE_THREAD`) or cannot write
   * (`SERVE_STORAGE`). The reason of the signal is the error.
   */
  readonly failed: AbortSignal;
  /**
   * Records a call. Once the promise resolves, the call is kept even if the process ends. A power
   * failure may lose the most recent calls, because the method does not wait for the disk. A call
   * whose id is already stored is ignored.
   * @throws InvariantError, BufferError
   */
  record(call: ServedCall): Promise<void>;
  sessionOf(msgId: string): Promise<string | undefined>;
  /**
   * Rewards all choices that the feedback names, or none of them.
   * @throws ModelError 404 naming unknown ids, 409 naming ids with a different reward, task or run
   */
  reward(feedback: Feedback): Promise<FeedbackResult>;
  /**
   * Puts all ready calls that are not in a batch yet into the batch with the number `step`, and
   * returns the batch. Returns undefined if there are no such calls.
   */
  startBatch(step: number): Promise<Batch | undefined>;
  /** Returns the batch that was started but not finished, or undefined if there is none. */
  unfinishedBatch(): Promise<Batch | undefined>;
  /**
   * Marks the calls of the batch as committed, and deletes their recorded experiences. Call it when
   * the batch is in the experience store.
   */
  finishBatch(step: number): Promise<void>;
  /** Returns the number of the last finished batch, or 0 if there is none. */
  lastStep(): Promise<number>;
  counts(): Promise<TurnCounts>;
  /** Waits until earlier calls have completed, then ends the thread. */
  close(): Promise<void>;
}
