/** Interface of a math checker, and its verdicts. */
import type { MathPair } from './rules.js';

/**
 * `deadline`: it took too long. `failed`: the comparison threw, or ended its thread, for example
 * because it ran out of memory.
 */
export type GiveUpReason = 'deadline' | 'failed';

/**
 * An answer that could not be compared counts as not equal, with a reason: what a model writes must
 * not end a run.
 */
export interface MathVerdict {
  readonly equal: boolean;
  /** Set when the comparison was given up; `equal` is false then. */
  readonly reason?: GiveUpReason;
}

/** A comparison that was given up. Without its text, which belongs to the model's answer. */
export interface GivenUp {
  readonly reason: GiveUpReason;
  readonly deadlineMs: number;
  readonly responseLength: number;
}

export interface MathCheckerOptions {
  /**
   * How long one comparison may take, in ms, above 0 and at most an hour. Detected up to a quarter
   * later. Time in which the process itself stands still (a laptop that sleeps, a stopped job) does
   * not count.
   * @default 2_000
   */
  readonly deadlineMs?: number;
  /** Longer answers are compared as plain text; the deadline allows for more. @default 1_000 */
  readonly maxAnswerLength?: number;
}

export interface MathChecker {
  /**
   * Compares one pair. Cheap comparisons run on the calling thread; the others wait their turn in a
   * thread that all callers share, which starts when it is first needed.
   * @throws CancelledError when the signal aborts or the checker is closed meanwhile; RewardError
   * when it was closed before, or the thread does not start
   */
  check(pair: MathPair, signal?: AbortSignal): Promise<MathVerdict>;
  /** Calls `listener` for every comparison that is given up; returns a function that stops it. */
  onGivenUp(listener: (givenUp: GivenUp) => void): () => void;
  /**
   * Ends the thread; comparisons that still wait are cancelled. An open checker keeps the process
   * alive only while there is something to compare.
   */
  close(): Promise<void>;
}
