/**
 * Waits for a device. Each wait has a deadline, and runs in a gate, which keeps the thread from
 * being terminated. Long waits are reported.
 */
import type { EngineError } from '@trinity-rft/core';
import { late } from './errors.js';
import type { Faults } from './faults.js';

/**
 * Runs a function that waits for the native driver. The thread is not terminated in the meantime,
 * because that would abort the process.
 */
type Gate = <T>(wait: () => Promise<T>) => Promise<T>;

export interface WaitOptions {
  /** Function in which every wait runs, to keep the thread from being terminated. */
  readonly gate: Gate;
  /** Callback every five seconds during a wait, with a message that says what is waited for. */
  readonly report: (message: string) => void;
  /** Deadline of one wait, in ms. @default 600_000 */
  readonly deadlineMs?: number;
}

const reportMs = 5000;

export class Waits {
  readonly #faults: Faults;
  readonly #options: WaitOptions;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #rejects = new Set<(reason: unknown) => void>();

  constructor(faults: Faults, options: WaitOptions) {
    this.#faults = faults;
    this.#options = options;
    // One handler serves all waits, because racing each wait against the promise would leak memory.
    // Without a pending wait, nothing else handles the rejection.
    faults.lost.catch((reason: unknown) => {
      for (const reject of this.#rejects) reject(reason);
    });
  }

  /**
   * Executes `work`, which waits for the device.
   * @param what noun phrase for reports and errors
   * @throws EngineError if the device has reported an error, or the deadline passes
   */
  async wait<T>(work: () => Promise<T>, what = 'queued work'): Promise<T> {
    this.#faults.check();
    const done = this.#options.gate(work);
    this.#keep(done);
    const { promise: ended, reject } = Promise.withResolvers<never>();
    this.#rejects.add(reject);
    const stopClocks = startClocks(this.#options, what, (error) => reject(this.#faults.add(error)));
    try {
      const result = await Promise.race([done, ended]);
      this.#faults.check();
      return result;
    } catch (cause) {
      throw await this.#faults.reason(cause);
    } finally {
      stopClocks();
      this.#rejects.delete(reject);
    }
  }

  /** Resolves when no native wait is pending. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  #keep(done: Promise<unknown>): void {
    this.#pending.add(done);
    const drop = (): void => void this.#pending.delete(done);
    done.then(drop, drop);
  }
}

/**
 * Executes `work`, which waits for the driver before a device is open.
 * @param what noun phrase for reports and errors
 * @throws EngineError if the deadline passes
 */
export async function waitForDriver<T>(
  options: WaitOptions,
  work: () => Promise<T>,
  what: string,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const stopClocks = startClocks(options, what, reject);
  try {
    return await Promise.race([options.gate(work), ended]);
  } finally {
    stopClocks();
  }
}

/**
 * Reports every five seconds what is waited for, and calls `onLate` at the deadline. Returns a
 * function that stops both timers.
 */
function startClocks(
  { report, deadlineMs = 600_000 }: WaitOptions,
  what: string,
  onLate: (error: EngineError) => void,
): () => void {
  let seconds = 0;
  const reports = setInterval(() => {
    seconds += reportMs / 1000;
    report(`Waiting for the GPU for ${seconds} s (at most ${deadlineMs / 1000} s): ${what}`);
  }, reportMs);
  const deadline = setTimeout(() => onLate(late(what, deadlineMs)), deadlineMs);
  return () => {
    clearInterval(reports);
    clearTimeout(deadline);
  };
}
