/** Compares answers in a thread that is given up when it takes too long. */
import {
  CancelledError,
  ConfigError,
  RewardError,
  describeError,
  type CancelReason,
} from '@trinity-rft/core';
import { maxAnswerLength as usualLength } from '../math/check.js';
import { decideInline } from './inline.js';
import type { FromCheckThread } from './protocol.js';
import type { MathPair } from './rules.js';
import { startCheckThread, type CheckThread } from './thread.js';

/**
 * `deadline`: it took too long. `failed`: the comparison threw, or ended its thread, as for want of
 * memory.
 */
export type GiveUpReason = 'deadline' | 'failed';

/**
 * An answer that could not be compared counts as not equal, and says so: what a model writes must
 * not end a run.
 */
export interface MathVerdict {
  readonly equal: boolean;
  /** Set when the comparison was given up; `equal` is false then. */
  readonly reason?: GiveUpReason;
}

/** A comparison that was given up. No text: it is the model's. */
export interface GivenUp {
  readonly reason: GiveUpReason;
  readonly deadlineMs: number;
  readonly responseLength: number;
}

export interface MathCheckerOptions {
  /**
   * How long one comparison may take, in ms, above 0 and at most an hour; up to a quarter more
   * before it is seen. Time in which the process itself stands still (a laptop that sleeps, a
   * stopped job) does not count. @default 2_000
   */
  readonly deadlineMs?: number;
  /** Longer answers are compared as plain text; the deadline allows for more. @default 1_000 */
  readonly maxAnswerLength?: number;
}

export interface MathChecker {
  /**
   * Compares one pair. What is cheap is decided on this thread; the rest waits its turn in a thread
   * that all callers share, started when it is first needed.
   * @throws CancelledError when the signal aborts or the checker is closed; RewardError when it was closed before, or the thread does
   *   not start
   */
  check(pair: MathPair, signal?: AbortSignal): Promise<MathVerdict>;
  /** Tells of every comparison that is given up; returns how to stop that. */
  onGivenUp(listener: (givenUp: GivenUp) => void): () => void;
  /**
   * Ends the thread; pairs that still wait are cancelled. An open checker keeps no process alive
   * that has nothing to compare.
   */
  close(): Promise<void>;
}

/** @throws ConfigError for a deadline or a length out of range */
export function createMathChecker(options: MathCheckerOptions = {}): MathChecker {
  const { deadlineMs = 2_000, maxAnswerLength = usualLength } = options;
  requireInRange('deadlineMs', deadlineMs, longestDeadlineMs);
  requireInRange('maxAnswerLength', maxAnswerLength, Number.MAX_SAFE_INTEGER);
  const checker = new ThreadedChecker(deadlineMs, maxAnswerLength);
  return {
    check: (pair, signal) => checker.check(pair, signal),
    onGivenUp: (listener) => checker.onGivenUp(listener),
    close: () => checker.close(),
  };
}

const longestDeadlineMs = 3_600_000;

function requireInRange(name: keyof MathCheckerOptions, value: number, most: number): void {
  if (value > 0 && value <= most) return;
  throw new ConfigError(
    `${name} of a math checker is ${value}; expected a number above 0, at most ${most}.`,
    {
      code: 'MATH_CHECKER_OPTIONS',
    },
  );
}

/** A question that the thread has not answered yet; nobody may wait for it any more. */
interface Open {
  readonly pair: MathPair;
  settle(outcome: MathVerdict | Error): void;
}

/**
 * How often per deadline it is looked at, at least; a process that stands still for long loses one
 * look by it.
 */
const looks = 4;
/** The longest time between two looks, in ms. */
const longestTickMs = 1_000;
/** How long a thread may take to start, in ms. */
const startMs = 30_000;

class ThreadedChecker {
  readonly #deadlineMs: number;
  readonly #tickMs: number;
  readonly #maxAnswerLength: number;
  readonly #listeners = new Set<(givenUp: GivenUp) => void>();
  /** In the order of the thread's work: the first is the one it works on. */
  readonly #open = new Map<number, Open>();
  #thread: CheckThread | undefined;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  /**
   * The question that the last look found first, 0 for the start of the thread, and how many looks
   * it has lasted.
   */
  #seen = 0;
  #age = 0;
  #lastId = 0;
  #closed = false;

  constructor(deadlineMs: number, maxAnswerLength: number) {
    this.#deadlineMs = deadlineMs;
    this.#tickMs = Math.min(deadlineMs / looks, longestTickMs);
    this.#maxAnswerLength = maxAnswerLength;
  }

  async check(pair: MathPair, signal?: AbortSignal): Promise<MathVerdict> {
    if (this.#closed)
      throw new RewardError('The math checker is closed. Make another one.', {
        code: 'MATH_CHECKER_CLOSED',
      });
    if (signal?.aborted) throw cancelled('The comparison was aborted.', 'aborted', signal.reason);
    const left = decideInline(pair);
    return typeof left === 'boolean' ? { equal: left } : this.#ask(left, signal);
  }

  onGivenUp(listener: (givenUp: GivenUp) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#settleAll(cancelled('The math checker was closed.', 'shutdown', undefined));
    await this.#dropThread();
  }

  #ask(pair: MathPair, signal: AbortSignal | undefined): Promise<MathVerdict> {
    const { promise, resolve, reject } = Promise.withResolvers<MathVerdict>();
    const id = ++this.#lastId;
    // The thread goes on with a question that nobody waits for: its time is counted, and the others
    // wait for it.
    const onAbort = (): void =>
      reject(cancelled('The comparison was aborted.', 'aborted', signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    const settle = (outcome: MathVerdict | Error): void => {
      signal?.removeEventListener('abort', onAbort);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    this.#open.set(id, { pair, settle });
    if (this.#thread) this.#thread.post({ id, ...pair });
    else this.#startThread();
    if (this.#open.size === 1) this.#watch();
    return promise;
  }

  /** Starts a thread and asks it all that is open. */
  #startThread(): void {
    this.#ready = false;
    try {
      this.#thread = startCheckThread(this.#maxAnswerLength, {
        received: (answer) => this.#receive(answer),
        died: (cause) => this.#threadDied(cause),
      });
    } catch (cause) {
      return this.#startFailed(cause);
    }
    for (const [id, { pair }] of this.#open) this.#thread.post({ id, ...pair });
    this.#thread.hold(true);
  }

  #receive({ id, equal }: FromCheckThread): void {
    if (id === 0) this.#ready = true;
    else if (equal === undefined) this.#giveUp(id, 'failed');
    else this.#answer(id, { equal });
  }

  #answer(id: number, outcome: MathVerdict): void {
    const open = this.#open.get(id);
    this.#open.delete(id);
    if (this.#open.size === 0) this.#thread?.hold(false);
    open?.settle(outcome);
  }

  #giveUp(id: number, reason: GiveUpReason): void {
    const responseLength = this.#open.get(id)?.pair.response.length ?? 0;
    this.#answer(id, { equal: false, reason });
    for (const listener of this.#listeners)
      listener({ reason, deadlineMs: this.#deadlineMs, responseLength });
  }

  /**
   * While anything is open. A timer and no {@link Clock}: what it bounds is the work of a real
   * thread.
   */
  #watch(): void {
    this.#thread?.hold(true);
    [this.#seen, this.#age] = [this.#first(), 0];
    this.#timer ??= setInterval(() => this.#look(), this.#tickMs).unref();
  }

  #look(): void {
    this.#thread?.drain();
    if (this.#open.size === 0) return this.#stopTimer();
    const first = this.#first();
    this.#age = first === this.#seen ? this.#age + 1 : 0;
    this.#seen = first;
    const lastedMs = this.#age * this.#tickMs;
    if (first === 0) {
      if (lastedMs >= startMs) this.#startFailed(undefined);
    } else if (lastedMs >= this.#deadlineMs) {
      void this.#dropThread();
      this.#giveUp(first, 'deadline');
      this.#restart();
    }
  }

  /** What the thread works on; 0 while it starts. */
  #first(): number {
    const [first = 0] = this.#ready ? this.#open.keys() : [];
    return first;
  }

  #threadDied(cause: unknown): void {
    this.#thread = undefined;
    if (!this.#ready) return this.#startFailed(cause);
    const first = this.#first();
    if (first !== 0) this.#giveUp(first, 'failed');
    this.#restart();
  }

  /** The others lose nothing but time. */
  #restart(): void {
    if (this.#open.size > 0 && !this.#thread && !this.#closed) this.#startThread();
  }

  #startFailed(cause: unknown): void {
    void this.#dropThread();
    const why =
      cause === undefined
        ? `did not start within ${startMs / 1_000} s`
        : `ended before it was ready: ${describeError(cause)}`;
    const message = `The thread that compares math answers ${why}. Its file, worker.js, lies beside the code of @trinity-rft/reward: leave the package out of a bundle, or copy the file.`;
    this.#settleAll(new RewardError(message, { code: 'MATH_CHECKER_START', cause }));
  }

  #settleAll(error: Error): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const question of open) question.settle(error);
  }

  async #dropThread(): Promise<void> {
    if (this.#open.size === 0) this.#stopTimer();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.end();
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const cancelled = (message: string, reason: CancelReason, cause: unknown): CancelledError =>
  new CancelledError(message, { code: 'MATH_CHECK_CANCELLED', reason, cause });
