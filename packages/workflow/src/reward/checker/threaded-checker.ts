/**
 * The math checker. It sends comparisons to a thread, and replaces a thread that takes too long.
 */
import { describeError, CancelledError, RewardError, type CancelReason } from '@trinity-rft/core';
import type { Link } from '@trinity-rft/core/worker-link';
import type {
  GivenUp,
  GiveUpReason,
  MathChecker,
  MathCheckerOptions,
  MathVerdict,
} from './types.js';
import { decideInline } from './inline.js';
import type { MathPair } from './rules.js';
import { startCompareThread, type CompareMethods } from './thread.js';

/** A comparison that has no verdict yet. Its caller may have stopped waiting for it. */
interface Comparison {
  readonly pair: MathPair;
  settle(outcome: MathVerdict | Error): void;
}

/**
 * Number of timer ticks per deadline. The age of a comparison is measured in ticks, so that time
 * during which the process is suspended counts as at most one tick.
 */
const checksPerDeadline = 4;
/** Maximum interval of the timer, in milliseconds. */
const longestTickMs = 1_000;
/** Time limit for the start of a thread, in milliseconds. */
const startMs = 30_000;

export class ThreadedChecker implements MathChecker {
  readonly #options: Required<MathCheckerOptions>;
  readonly #tickMs: number;
  readonly #listeners = new Set<(givenUp: GivenUp) => void>();
  /**
   * Pending comparisons, in the order in which the thread handles them. The first one is in
   * progress.
   */
  readonly #open = new Set<Comparison>();
  #thread: Link<CompareMethods> | undefined;
  /** True once the thread has loaded its code. */
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  /**
   * Comparison that was in progress at the last tick; undefined while the thread starts. `#age` is
   * the number of ticks since it, or the start of the thread, was first seen.
   */
  #watched: Comparison | undefined;
  #age = 0;
  #closed = false;

  constructor(options: Required<MathCheckerOptions>) {
    this.#options = options;
    this.#tickMs = Math.min(options.deadlineMs / checksPerDeadline, longestTickMs);
  }

  async check(pair: MathPair, signal?: AbortSignal): Promise<MathVerdict> {
    if (this.#closed)
      throw new RewardError('The math checker is closed. Create another one.', {
        code: 'MATH_CHECKER_CLOSED',
      });
    if (signal?.aborted) throw cancelled('The comparison was aborted.', 'aborted', signal.reason);
    const decided = decideInline(pair);
    return typeof decided === 'boolean' ? { equal: decided } : this.#compare(decided, signal);
  }

  onGivenUp(listener: (givenUp: GivenUp) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#settleAll(cancelled('The math checker was closed.', 'shutdown'));
    await this.#endThread();
  }

  #compare(pair: MathPair, signal: AbortSignal | undefined): Promise<MathVerdict> {
    const { promise, resolve, reject } = Promise.withResolvers<MathVerdict>();
    // The thread continues with an aborted comparison. The time of this comparison still counts,
    // because other comparisons wait for it.
    const onAbort = (): void =>
      reject(cancelled('The comparison was aborted.', 'aborted', signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    const settle = (outcome: MathVerdict | Error): void => {
      signal?.removeEventListener('abort', onAbort);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const comparison = { pair, settle };
    this.#open.add(comparison);
    if (this.#thread) this.#send(this.#thread, comparison);
    else this.#startThread();
    if (this.#open.size === 1) this.#watch();
    return promise;
  }

  /** Starts a thread and sends it all pending comparisons. */
  #startThread(): void {
    this.#ready = false;
    const { maxAnswerLength } = this.#options;
    let thread: Link<CompareMethods>;
    try {
      thread = startCompareThread({ maxAnswerLength }, (cause) => this.#threadExited(cause));
    } catch {
      // Ignored, because `#threadExited` was called with the error.
      return;
    }
    this.#thread = thread;
    thread.call('ready').then(
      () => {
        if (thread === this.#thread) this.#ready = true;
      },
      () => undefined,
    );
    for (const comparison of this.#open) this.#send(thread, comparison);
  }

  #send(thread: Link<CompareMethods>, comparison: Comparison): void {
    thread.call('compare', comparison.pair).then(
      (equal) => this.#settle(comparison, { equal }),
      () => {
        // If the thread has ended, the next thread receives the comparison.
        if (thread === this.#thread) this.#giveUp(comparison, 'failed');
      },
    );
  }

  #settle(comparison: Comparison, outcome: MathVerdict): void {
    this.#open.delete(comparison);
    comparison.settle(outcome);
  }

  #giveUp(comparison: Comparison, reason: GiveUpReason): void {
    this.#settle(comparison, { equal: false, reason });
    // The caller of a search for a pattern throws an error that names the pattern.
    if (comparison.pair.rule === 'pattern') return;
    const { deadlineMs } = this.#options;
    const responseLength = comparison.pair.response.length;
    for (const listener of this.#listeners) listener({ reason, deadlineMs, responseLength });
  }

  /**
   * Starts the timer, which is active while comparisons are pending. It is a real timer instead of
   * a `Clock`, because it limits the work of a real thread.
   */
  #watch(): void {
    this.#watched = this.#inProgress();
    this.#age = 0;
    this.#timer ??= setInterval(() => {
      // Replies that have arrived are handled first, so that they are not considered late if this
      // thread was busy.
      this.#thread?.drain();
      setImmediate(() => this.#checkAge());
    }, this.#tickMs).unref();
  }

  #checkAge(): void {
    if (this.#open.size === 0) return this.#stopTimer();
    const current = this.#inProgress();
    this.#age = current === this.#watched ? this.#age + 1 : 0;
    this.#watched = current;
    const ageMs = this.#age * this.#tickMs;
    if (current === undefined) {
      if (ageMs >= startMs) this.#startFailed(undefined);
    } else if (ageMs >= this.#options.deadlineMs) {
      void this.#endThread();
      this.#giveUp(current, 'deadline');
      this.#restart();
    }
  }

  #inProgress(): Comparison | undefined {
    const [first] = this.#ready ? this.#open : [];
    return first;
  }

  #threadExited(cause: unknown): void {
    this.#thread = undefined;
    if (!this.#ready) return this.#startFailed(cause);
    const current = this.#inProgress();
    if (current) this.#giveUp(current, 'failed');
    this.#restart();
  }

  /** Starts a new thread if comparisons are still pending. */
  #restart(): void {
    if (this.#open.size > 0 && !this.#thread && !this.#closed) this.#startThread();
  }

  #startFailed(cause: unknown): void {
    void this.#endThread();
    const why =
      cause === undefined
        ? `did not start within ${startMs / 1_000} s`
        : `ended before it was ready: ${describeError(cause)}`;
    this.#settleAll(
      new RewardError(
        `The thread that compares math answers ${why}. Its file, worker.js, must be next to the code of @trinity-rft/workflow: leave the package out of a bundle, or copy the file.`,
        { code: 'MATH_CHECKER_START', cause },
      ),
    );
  }

  #settleAll(error: Error): void {
    const open = [...this.#open];
    this.#open.clear();
    for (const comparison of open) comparison.settle(error);
  }

  async #endThread(): Promise<void> {
    if (this.#open.size === 0) this.#stopTimer();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close(cancelled('The thread that compares math answers was ended.', 'shutdown'));
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const cancelled = (message: string, reason: CancelReason, cause?: unknown): CancelledError =>
  new CancelledError(message, { code: 'MATH_CHECK_CANCELLED', reason, cause });
