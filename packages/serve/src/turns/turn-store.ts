/**
 * What is kept of every call that was served: until it is rewarded, until it is committed, and who
 * it was after that.
 */
import type { Experience } from '@trinity-rft/core';

/** A finished call, before its client can see the answer. */
export interface ServedCall {
  /** The id that the client gets: of a completion or a response. */
  readonly msgId: string;
  /** Whose conversation it belongs to. */
  readonly session: string;
  /** One per choice, in order. */
  readonly experiences: readonly Experience[];
}

/** One call to `/feedback`. */
export interface Feedback {
  /** Finite. */
  readonly reward: number;
  /** `ID` names all choices of a call, `ID:CHOICE` one of them, from 0. At least one. */
  readonly msgIds: readonly string[];
  /** Calls with the same one are compared. @default each call is a task of its own */
  readonly taskId?: string;
  /** Attempt at the task, from 0. */
  readonly runId: number;
}

export interface FeedbackResult {
  /** As they were named. */
  readonly applied: readonly string[];
  /** Named, and rewarded before with the same reward, task and run: nothing changed. */
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
  /** As it was recorded. */
  readonly experience: Experience;
}

/** A set of rewarded calls that goes into the experience store under one number. */
export interface Batch {
  readonly step: number;
  /** In the order in which they were served. */
  readonly calls: readonly RewardedCall[];
}

/** Numbers of choices. `total` = `open` + `ready` + `committed`. */
export interface TurnCounts {
  readonly total: number;
  /** Without a reward. */
  readonly open: number;
  /** Rewarded, for the next commit; with a commit that is in progress. */
  readonly ready: number;
  readonly committed: number;
}

/**
 * Calls happen in the order in which they are made, and are atomic: what resolved has happened for
 * good, what rejected has changed nothing. All reject with BufferError `SERVE_CLOSED` after
 * {@link close}, and with the reason of {@link gone} once that has aborted.
 */
export interface TurnStore {
  /** How often the store has been opened, this time included. */
  readonly starts: number;
  /**
   * Aborts, with the error as its reason, when the store's thread has died (`SERVE_THREAD`) or
   * cannot write (`SERVE_STORAGE`).
   */
  readonly gone: AbortSignal;
  /**
   * Resolves without waiting for the disk, when the call survives the end of the process; a power
   * cut may take those of the last moment. An id that is known already changes nothing. @throws
   * InvariantError, BufferError
   */
  record(call: ServedCall): Promise<void>;
  sessionOf(msgId: string): Promise<string | undefined>;
  /**
   * @throws ModelError 404 naming unknown ids, 409 naming those with another reward, task or run;
   * nothing is applied then
   */
  reward(feedback: Feedback): Promise<FeedbackResult>;
  /**
   * All calls that are ready and in no batch become batch `step`; undefined when there are none.
   */
  begin(step: number): Promise<Batch | undefined>;
  /** The batch that was begun and not settled. */
  begun(): Promise<Batch | undefined>;
  /** The batch is in the experience store: of its calls only ids and rewards are kept. */
  settle(step: number): Promise<void>;
  /** Of the last batch that was settled, 0 before the first. */
  lastStep(): Promise<number>;
  counts(): Promise<TurnCounts>;
  /** Waits for the calls that were made before, and ends the thread. */
  close(): Promise<void>;
}
