/** Interface of a math checker, and its verdicts. */
import type { MathPair } from './rules.js';

/**
 * Reason why a comparison was given up. `deadline`: the comparison took too long. `failed`: the
 * comparison threw, or ended its thread, for example because it ran out of memory.
 */
export type GiveUpReason = 'deadline' | 'failed';

/**
 * Verdict of a comparison. An answer that could not be compared is considered unequal, with a
 * reason, because an answer from a model must not end a training run.
 */
export interface MathVerdict {
  readonly equal: boolean;
  /** Reason why the comparison was given up. `equal` is then false. */
  readonly reason?: GiveUpReason;
}

/** A comparison that was given up. Excludes the texts, because they may be private. */
export interface GivenUp {
  readonly reason: GiveUpReason;
  readonly deadlineMs: number;
  readonly responseLength: number;
}

export interface MathCheckerOptions {
  /**
   * Maximum number of milliseconds for one comparison: above 0 and at most an hour. An overrun may
   * be detected up to a quarter of this time later. Time during which the process is suspended (a
   * laptop that sleeps, a stopped job) does not count.
   * @default 2_000
   */
  readonly deadlineMs?: number;
  /**
   * Maximum number of characters of an answer; longer answers are compared as plain text.
   * @default 1_000
   */
  readonly maxAnswerLength?: number;
}

export interface MathChecker {
  /**
   * Compares one pair. Cheap comparisons are made on the calling thread. Other comparisons queue
   * for a thread that all callers share. The thread is started when it is first needed.
   * @throws CancelledError if the signal aborts or the checker is closed during the comparison;
   * RewardError if the checker was closed before, or if the thread does not start
   */
  check(pair: MathPair, signal?: AbortSignal): Promise<MathVerdict>;
  /**
   * Calls `listener` for every comparison of answers that is given up, but not for searches for
   * patterns.
   * @returns function that removes the listener
   */
  onGivenUp(listener: (givenUp: GivenUp) => void): () => void;
  /**
   * Terminates the thread, and cancels pending comparisons. A checker that is not closed keeps the
   * process alive only while comparisons are pending.
   */
  close(): Promise<void>;
}
