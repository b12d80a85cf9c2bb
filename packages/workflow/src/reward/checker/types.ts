/** Interface of math checkers, and their verdicts. */
import type { MathPair } from './rules.js';

/**
 * Reason why a comparison has no result. `deadline`: it took too long. `failed`: it threw an error
 * or terminated its thread, for example because it ran out of memory.
 */
export type GiveUpReason = 'deadline' | 'failed';

/**
 * Verdict of a comparison. An answer that could not be compared counts as unequal, and `reason` is
 * set, because no answer of a model may end a training run.
 */
export interface MathVerdict {
  readonly equal: boolean;
  /** Reason why the comparison was given up. `equal` is then false. */
  readonly reason?: GiveUpReason;
}

/**
 * Report of a comparison that was given up. It does not contain the texts, because they may be
 * private.
 */
export interface GivenUp {
  readonly reason: GiveUpReason;
  readonly deadlineMs: number;
  readonly responseLength: number;
}

export interface MathCheckerOptions {
  /**
   * Time limit of one comparison, in milliseconds: above 0 and at most an hour. Exceeding it may be
   * detected up to a quarter of this time later. Time during which the process is suspended (a
   * laptop that sleeps, a stopped job) does not count.
   * @default 2_000
   */
  readonly deadlineMs?: number;
  /**
   * Maximum length of an answer in characters. Longer answers are compared as plain text.
   * @default 1_000
   */
  readonly maxAnswerLength?: number;
}

export interface MathChecker {
  /**
   * Compares a response with a reference answer. Cheap comparisons are made on the calling thread.
   * Other comparisons wait in a queue for one worker thread, which is started when it is first
   * needed.
   * @throws CancelledError if the signal aborts or the checker is closed during the comparison;
   * RewardError if the checker was closed before, or if the thread does not start
   */
  check(pair: MathPair, signal?: AbortSignal): Promise<MathVerdict>;
  /**
   * Calls `listener` for every comparison that is given up, except for searches with the rule
   * `pattern`.
   * @returns function that removes the listener
   */
  onGivenUp(listener: (givenUp: GivenUp) => void): () => void;
  /**
   * Closes the checker: terminates its thread, and cancels pending comparisons. Closing is
   * optional, because a checker keeps the process alive only while comparisons are pending.
   */
  close(): Promise<void>;
}
