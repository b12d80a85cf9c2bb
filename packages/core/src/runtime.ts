/**
 * Sources of time, randomness, ids and log output. Library code receives them as arguments instead
 * of using globals.
 */
import { createRandom, deriveSeed, type Random } from './random.js';

export interface Clock {
  /** Returns the current time in milliseconds since the epoch. */
  now(): number;
  /** Calls `callback` once, after `ms` milliseconds. @returns function that cancels the call */
  after(ms: number, callback: () => void): () => void;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason if the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Log for people. Prompts and tool outputs may appear at `debug` only. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * Returns a function that counts its calls with a logger and a text, from 1, so that a logger can
 * say a thing once.
 * @param most maximum number of texts per logger. The count of further texts is undefined.
 */
export function countPerLogger(
  most = Infinity,
): (logger: Logger, text: string) => number | undefined {
  const seen = new WeakMap<Logger, Map<string, number>>();
  return (logger, text) => {
    const counts = seen.get(logger) ?? new Map<string, number>();
    seen.set(logger, counts);
    if (!counts.has(text) && counts.size >= most) return undefined;
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    return count;
  };
}

export interface Runtime {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Root seed of the training run, a 32-bit unsigned integer. */
  readonly seed: number;
  /**
   * Returns the random stream with this name. Equal names give equal streams, whatever other
   * streams have drawn.
   */
  random(...parts: readonly (string | number)[]): Random;
  /** Returns the 32-bit seed that is derived from this name. */
  seedFor(...parts: readonly (string | number)[]): number;
  /** Returns a new id that is unique among the ids of this runtime. */
  newId(prefix: string): string;
}

/** Maximum delay of a Node timer, 2^31 - 1 ms. A timer with a longer delay fires at once. */
export const longestTimer = 2_147_483_647;

/** Clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, callback) => {
    const wait = (left: number): NodeJS.Timeout =>
      left > longestTimer
        ? setTimeout(() => (timer = wait(left - longestTimer)), longestTimer)
        : setTimeout(callback, left);
    let timer = wait(ms);
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleep(systemClock, ms, signal),
};

/** Implements {@link Clock.sleep} by means of {@link Clock.after}. */
export function sleep(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Logger that discards every line. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export interface RuntimeOptions {
  /** Root seed. @default 42 */
  readonly seed?: number;
  /** Source of the time. @default the system clock */
  readonly clock?: Clock;
  /** Destination of log output. @default no log output */
  readonly logger?: Logger;
}

/** Creates a runtime with seeded randomness. */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  const seed = (options.seed ?? 42) >>> 0;
  let counter = 0;
  return {
    clock: options.clock ?? systemClock,
    logger: options.logger ?? silentLogger,
    seed,
    random: (...parts) => createRandom(deriveSeed(seed, ...parts)),
    seedFor: (...parts) => deriveSeed(seed, ...parts),
    newId: (prefix) => `${prefix}_${(counter++).toString(36)}`,
  };
}
