/**
 * Circuit breakers for environments. If an environment fails repeatedly, its rollouts wait, and
 * single attempts test it until one succeeds, or the agent itself fails in two in a row.
 */
import {
  describeError,
  EnvironmentError,
  type Clock,
  type Logger,
  type Task,
} from '@trinity-rft/core';
import { createStoppableClock, type StoppableClock } from '@trinity-rft/core/support';
import { createBackOffs, type OnPause } from './back-offs.js';
import { isOfGrade } from './breakages.js';

/** Settings named as in the configuration's section `explorer.environment_failures`. */
export interface EnvironmentFailures {
  /**
   * Maximum number of retries of a rollout whose environment fails. There is no limit while the
   * rollouts of the environment wait, see `maxInRow`.
   */
  readonly maxRetryTimes: number;
  /**
   * Number of consecutive failures after which the rollouts of an environment wait. If all of these
   * failures belong to one task, the rollouts wait only if no other rollout of the environment has
   * succeeded since that task began.
   */
  readonly maxInRow: number;
  /**
   * Maximum number of milliseconds that rollouts wait for an environment. After this time, the
   * training run ends with an error.
   */
  readonly maxWaitMs: number;
}

export const defaultEnvironmentFailures: EnvironmentFailures = {
  maxRetryTimes: 8,
  maxInRow: 8,
  maxWaitMs: 1_800_000,
};

export interface CircuitOptions {
  readonly settings: { readonly environmentFailures?: EnvironmentFailures };
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Called when the rollouts of an environment start to wait. Such waits are logged, too. @default
   * no callback
   */
  readonly onPause?: OnPause;
}

/**
 * Outcome of an attempt: `answered` if it succeeded, a breakdown if the environment failed, `failed`
 * if the agent itself failed after model calls, `unknown` if it ended for any other reason.
 */
export type Answer = 'answered' | 'failed' | 'unknown' | Breakdown;

interface Breakdown {
  readonly error: EnvironmentError;
  /** True if the same action broke the environment in the previous attempt. */
  readonly isRepeated: boolean;
}

/** Permission for an attempt to begin. */
export interface Admission {
  /** Returns false if the environment has been paused or resumed since `enter` resolved. */
  isCurrent(): boolean;
  /** Records how the attempt ended. Must be called exactly once. */
  end(answer: Answer): void;
}

export interface EnvironmentCircuit {
  /**
   * Registers the start of a task's rollouts.
   * @returns function to call when all of them have ended
   */
  join(task: Task): () => void;
  /**
   * Resolves when an attempt may begin: immediately or, while the environment is down, when this
   * attempt is chosen to test the environment.
   * @throws EnvironmentError `ENVIRONMENT_DOWN` if the environment has failed for too long, and the
   * signal's reason if it aborts
   */
  enter(task: Task, signal: AbortSignal): Promise<Admission>;
  /** Returns true while attempts wait. */
  isPaused(): boolean;
  /** Returns the number of attempts that the environment has answered so far. */
  answers(): number;
}

/** One circuit for each environment. All tasks of a process share the circuits. */
export interface EnvironmentCircuits {
  of(environment: string): EnvironmentCircuit;
  /** Clock for time limits of tasks. It is stopped while rollouts wait for an environment. */
  readonly clock: StoppableClock;
  /**
   * Registers that a rollout waits for `ms` before it is retried.
   * @returns function to call when the rollout continues
   */
  backOff(environment: string, ms: number): () => void;
}

export function createEnvironmentCircuits(options: CircuitOptions): EnvironmentCircuits {
  const circuits = new Map<string, EnvironmentCircuit>();
  const clock = createStoppableClock(options.clock);
  const backOffs = createBackOffs(options.onPause ?? (() => nothing), options.clock);
  const onPause: OnPause = (what) => {
    const goOn = clock.stop();
    const end = options.onPause?.(what);
    return () => {
      goOn();
      end?.();
    };
  };
  return {
    clock,
    backOff: (environment, ms) => backOffs.begin(environment, ms),
    of: (environment) => {
      const known = circuits.get(environment) ?? new Circuit(environment, { ...options, onPause });
      circuits.set(environment, known);
      return known;
    },
  };
}

/** Maximum number of rows in an error message. */
const shownRows = 5;
const firstProbeMs = 1000;
const longestProbeMs = 60_000;
/** Number of consecutive tests in which the agent itself fails after which a pause ends. */
const ownFailuresToGoOn = 2;

/** State while rollouts wait. */
interface Pause {
  /** Start of the pause, earlier by the time of all pauses since an attempt was last answered. */
  readonly since: number;
  readonly end: () => void;
  probeAt: number;
  backOffMs: number;
  isProbed: boolean;
  /** Number of tests that ended without an answer, and without a failure of the environment. */
  otherEnds: number;
  ownFailuresInRow: number;
}

class Circuit implements EnvironmentCircuit {
  readonly #environment: string;
  readonly #options: CircuitOptions;
  /** Tasks of the latest consecutive failures. */
  readonly #tasks = new Set<Task>();
  /** Tasks in progress that have started since the environment last answered an attempt. */
  readonly #alone = new Set<Task>();
  /** Number of answers when an attempt of a task first could not be graded. */
  readonly #ungraded = new WeakMap<Task, number>();
  #inRow = 0;
  #answers = 0;
  #lastError: EnvironmentError | undefined;
  #pause: Pause | undefined;
  /** Time of the pauses that have ended since the environment last answered an attempt, in ms. */
  #pausedMs = 0;
  #changed = Promise.withResolvers<void>();

  constructor(environment: string, options: CircuitOptions) {
    this.#environment = environment;
    this.#options = options;
  }

  join(task: Task): () => void {
    this.#alone.add(task);
    return () => void this.#alone.delete(task);
  }

  async enter(task: Task, signal: AbortSignal): Promise<Admission> {
    for (;;) {
      signal.throwIfAborted();
      const pause = this.#pause;
      if (pause === undefined) return this.#admit(task, undefined);
      const now = this.#options.clock.now();
      const { maxWaitMs } = this.#settings();
      if (now >= pause.since + maxWaitMs) {
        if (!this.#dropsUngraded()) throw this.#down(pause);
        continue;
      }
      if (!pause.isProbed && now >= pause.probeAt) return this.#admit(task, pause);
      const until = pause.isProbed ? Infinity : pause.probeAt;
      await this.#wait(Math.min(until, pause.since + maxWaitMs) - now, signal);
    }
  }

  isPaused(): boolean {
    return this.#pause !== undefined;
  }

  answers(): number {
    return this.#answers;
  }

  #settings(): EnvironmentFailures {
    return this.#options.settings.environmentFailures ?? defaultEnvironmentFailures;
  }

  #admit(task: Task, probed: Pause | undefined): Admission {
    if (probed) probed.isProbed = true;
    return {
      isCurrent: () => this.#pause === probed,
      end: (answer) => {
        if (probed && probed === this.#pause) this.#probed(probed, answer);
        if (answer === 'answered') this.#answered();
        else if (typeof answer === 'object' && this.#mayBeDown(task, answer))
          this.#count(task, answer.error);
      },
    };
  }

  #probed(pause: Pause, answer: Answer): void {
    if (typeof answer === 'object') pause.backOffMs = Math.min(2 * pause.backOffMs, longestProbeMs);
    else pause.otherEnds++;
    pause.ownFailuresInRow = answer === 'failed' ? pause.ownFailuresInRow + 1 : 0;
    if (pause.ownFailuresInRow >= ownFailuresToGoOn)
      return this.#endPause('is tried by all its runs again: the agent failed in two tests of it');
    pause.probeAt = this.#options.clock.now() + pause.backOffMs;
    pause.isProbed = false;
    this.#tell();
  }

  /**
   * Returns false if the same action broke the environment repeatedly while other attempts were
   * answered, or if other attempts were answered since one of this task first could not be graded.
   * This does not show that the environment is down.
   */
  #mayBeDown(task: Task, { error, isRepeated }: Breakdown): boolean {
    if (!isOfGrade(error)) return this.#alone.has(task) || !isRepeated;
    const before = this.#ungraded.get(task) ?? this.#answers;
    this.#ungraded.set(task, before);
    return before === this.#answers;
  }

  /**
   * Ends the pause if all that fails are grades of rows, and other rows were graded after these
   * rows had started: their runs fail then, and not the whole process.
   */
  #dropsUngraded(): boolean {
    if (!this.#lastError || !isOfGrade(this.#lastError)) return false;
    if (this.#tasks.values().some((task) => this.#alone.has(task))) return false;
    for (const task of this.#tasks) this.#ungraded.set(task, -1);
    this.#endPause('has graded other rows, so the runs that wait for their grade are tried again');
    return true;
  }

  #count(task: Task, error: EnvironmentError): void {
    this.#inRow++;
    this.#tasks.add(task);
    this.#lastError = error;
    const { clock, logger, onPause } = this.#options;
    const settings = this.#settings();
    if (this.#pause || this.#inRow < settings.maxInRow) return;
    if (this.#tasks.size < 2 && !this.#alone.has(task)) return;
    const cause = describeError(error);
    logger.warn(
      `Environment "${this.#environment}" failed ${this.#inRow} times in a row, so its runs wait until it answers, at most ${(settings.maxWaitMs - this.#pausedMs) / 1000} s: ${cause}`,
    );
    this.#pause = {
      since: clock.now() - this.#pausedMs,
      end: onPause?.(`environment "${this.#environment}", which fails: ${cause}`) ?? nothing,
      probeAt: clock.now() + firstProbeMs,
      backOffMs: firstProbeMs,
      isProbed: false,
      otherEnds: 0,
      ownFailuresInRow: 0,
    };
  }

  #answered(): void {
    this.#answers++;
    this.#alone.clear();
    const seconds = (this.#options.clock.now() - (this.#pause?.since ?? 0)) / 1000;
    this.#endPause(`answers again after ${seconds.toFixed(1)} s; its runs continue`);
    this.#pausedMs = 0;
  }

  #endPause(what: string): void {
    this.#inRow = 0;
    this.#tasks.clear();
    if (!this.#pause) return;
    this.#pausedMs = this.#options.clock.now() - this.#pause.since;
    this.#pause.end();
    this.#pause = undefined;
    this.#options.logger.info(`Environment "${this.#environment}" ${what}.`);
    this.#tell();
  }

  /** Wakes waiting attempts in the order in which they arrived. */
  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const { clock } = this.#options;
    const due = clock.sleep(ms, AbortSignal.any([signal, over.signal]));
    due.catch(nothing);
    try {
      await Promise.race([due, this.#changed.promise]);
    } finally {
      over.abort();
    }
  }

  #down({ otherEnds }: Pause): EnvironmentError {
    const { maxWaitMs } = this.#settings();
    const names = [...this.#tasks].map(({ index }) => `row ${index.row} of "${index.taskset}"`);
    const more = names.length > shownRows ? `, and ${names.length - shownRows} more` : '';
    const rows = `${names.slice(0, shownRows).join(', ')}${more}`;
    const hint = ` The last failures were at ${rows}: if only these fail, take them out of the task set.`;
    const otherwise =
      otherEnds === 0 ? '' : ` Number of tests that ended for other reasons: ${otherEnds}.`;
    return new EnvironmentError(
      `Environment "${this.#environment}" has failed for ${maxWaitMs / 1000} s (explorer.environment_failures.max_wait). Mend it and start the run again: it continues where it was.${hint}${otherwise}`,
      { code: 'ENVIRONMENT_DOWN', cause: this.#lastError },
    );
  }
}

const nothing = (): void => undefined;

/**
 * Returns the delay in milliseconds before the next attempt at a rollout whose environment has
 * failed `failures` times. The first two retries are immediate.
 */
export const environmentBackOffMs = (failures: number): number =>
  failures <= 2 ? 0 : Math.min(firstProbeMs * 2 ** (failures - 3), longestProbeMs);
