/** Wraps an episode so that every wait has a deadline, and errors become EnvironmentErrors. */
import {
  describeError,
  EnvironmentError,
  TrinityError,
  type Clock,
  type Logger,
  deriveSeed,
} from '@trinity-rft/core';
import { copyOf, returnedBy, type Returned } from '@trinity-rft/core/support';
import type { Action, Environment, Episode, EpisodeStart, StepResult } from '../seam/types.js';
import { createDeadlineClock } from '../waiting/deadline-clock.js';
import { shorten, within } from '../waiting/within.js';

export interface GuardOptions {
  /** Name of the environment in error messages. */
  readonly name: string;
  /** Timeout of each step, grade and close, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Timeout for opening the environment, and for the reset, in milliseconds.
   * @default `timeoutMs`
   */
  readonly startTimeoutMs?: number;
  /**
   * Name of the time limit in error messages.
   * @default the key in `workflow_args`
   */
  readonly limitName?: string;
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** The part of an episode that the play loop uses, with deadlines. */
export interface GuardedEpisode extends Pick<Episode, 'observation' | 'instructions' | 'tools'> {
  step(action: Action): Promise<StepResult>;
  /**
   * Returns the grade of the current state, in the cases in which `Episode.grade` is called.
   * Returns undefined if only the rewards of the steps count, or the episode has no grade.
   * @throws EnvironmentError if the environment ended the episode without a reward or a grade
   */
  grade(): Promise<number | undefined>;
  stateKey(): string | undefined;
  /**
   * Returns the total time spent in reset, steps and grading, in milliseconds. Includes waits that
   * the timeouts exclude, such as judge calls.
   */
  waitedMs(): number;
  /** Ends the episode. Failures are logged. */
  close(): Promise<void>;
}

/**
 * Starts an episode whose calls have deadlines.
 * @param environment the environment, or a promise of it while it is being opened
 * @throws EnvironmentError, TaskError, and CancelledError if the signal aborts
 */
export async function beginEpisode(
  environment: Environment | Promise<Environment>,
  start: EpisodeStart,
  options: GuardOptions,
): Promise<GuardedEpisode> {
  const { clock, startTimeoutMs = options.timeoutMs } = options;
  const startLimit: Limit = {
    ...options,
    timeoutMs: startTimeoutMs,
    key: 'environment_start_timeout',
  };
  const ready = await beforeDeadline('the start', () => Promise.resolve(environment), startLimit);
  let waitedMs = 0;
  const { clock: ownTime, untimed } = createDeadlineClock(clock);
  const { judge } = start;
  const from: EpisodeStart = {
    ...start,
    judge: judge && { ask: (question) => untimed(() => judge.ask(question)) },
    untimed,
  };
  const ask = async <T>(
    what: string,
    work: (signal: AbortSignal) => Promise<T>,
    limit: Limit = options,
  ): Promise<T> => {
    const asked = clock.now();
    try {
      return await beforeDeadline(what, work, { ...limit, clock: ownTime });
    } finally {
      waitedMs += clock.now() - asked;
    }
  };
  const episode = await ask(
    'reset',
    (signal) => reset(ready, from, { ...options, signal }),
    startLimit,
  );
  const close = (): Promise<void> => closeEpisode(episode, options);
  let steps = 0;
  let [hasReward, isDecided] = [false, false];
  return {
    observation: episode.observation,
    instructions: episode.instructions,
    tools: episode.tools,
    step: (action) => {
      const place = placeOf(++steps, action);
      return atAction(place, async () => {
        const taken = await ask(place.text, (signal) => episode.step(action, signal));
        const result = checked(taken, options);
        hasReward ||= result.reward !== undefined;
        isDecided = result.done && result.truncated !== true;
        return result;
      });
    },
    grade: () =>
      atGrade(async () => {
        if (isDecided && hasReward) return undefined;
        const grade =
          episode.grade && (await ask('grade', async (signal) => episode.grade?.(signal)));
        if (grade !== undefined) return returned(options).reward(grade, ' as grade');
        if (isDecided) throw noVerdict();
        return undefined;
      }),
    stateKey: () => stateOf(episode, options),
    waitedMs: () => waitedMs,
    close,
  };
}

/** Step and action during which an error of the environment occurred. */
interface Place {
  readonly step: number;
  /** Hash of the action. */
  readonly action: number;
  readonly text: string;
}

function placeOf(step: number, action: Action): Place {
  const written =
    action.type === 'text' ? action.text : `${action.name}(${JSON.stringify(action.arguments)})`;
  const text = `step ${step} (the action ${JSON.stringify(shorten(written, 80))})`;
  return { step, action: deriveSeed(0, written), text };
}

/**
 * Adds the step and the action to errors of `work`, so that the explorer can detect repeated
 * crashes at one action.
 */
async function atAction<T>({ step, action, text }: Place, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    const { code, message, cause, details } = error;
    const place = message.includes(text) ? '' : ` It was at ${text}.`;
    const where = { ...details, step, action };
    throw new EnvironmentError(`${message}${place}`, { code, cause, details: where });
  }
}

/**
 * Marks errors of the code that grades, so that the explorer drops rows that cannot be graded while
 * others are. Does not mark timeouts, and failures that are known to be of a judge or a server.
 */
async function atGrade<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EnvironmentError) || !gradeFaults.has(error.code)) throw error;
    const { code, message, cause, details } = error;
    throw new EnvironmentError(message, { code, cause, details: { ...details, action: 'grade' } });
  }
}

const gradeFaults = new Set<string | undefined>(['ENVIRONMENT_FAILED', 'ENVIRONMENT_NO_VERDICT']);

function stateOf(episode: Episode, options: GuardOptions): string | undefined {
  try {
    const key = episode.stateKey?.();
    return key === undefined ? undefined : returned(options).text(key, ' as state key');
  } catch (error) {
    throw TrinityError.is(error) ? error : broken(options, 'failed at its state key', error);
  }
}

/**
 * Starts an episode. If the episode starts only after the timeout, closes it, so that it does not
 * leak.
 */
async function reset(
  environment: Environment,
  start: EpisodeStart,
  options: GuardOptions,
): Promise<Episode> {
  const own = { ...start, row: copyOf(start.row) };
  const episode = checkEpisode(await environment.reset(own, options.signal), options);
  if (options.signal.aborted) await closeEpisode(episode, options);
  return episode;
}

/** Closes an episode, even if its rollout was aborted. Failures are logged. */
async function closeEpisode(episode: Episode, options: GuardOptions): Promise<void> {
  const { signal } = new AbortController();
  await beforeDeadline('close', () => episode.close(), { ...options, signal }).catch(
    (error: unknown) =>
      options.logger.warn(`An episode could not be closed: ${describeError(error)}`),
  );
}

interface Limit extends GuardOptions {
  /** Key of the time limit in `workflow_args`. @default 'environment_timeout' */
  readonly key?: string;
}

async function beforeDeadline<T>(
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
  options: Limit,
): Promise<T> {
  const { clock, timeoutMs: ms, signal } = options;
  try {
    return await within({ ms, signal, clock }, () => tooLate(what, options), work);
  } catch (error) {
    if (signal.aborted || TrinityError.is(error)) throw error;
    throw broken(options, `failed at ${what}`, error);
  }
}

const noVerdict = (): EnvironmentError =>
  new EnvironmentError('The environment ended the episode without a reward or a grade.', {
    code: 'ENVIRONMENT_NO_VERDICT',
  });

const returned = ({ name }: GuardOptions): Returned =>
  returnedBy(
    `Environment "${name}"`,
    (message) => new EnvironmentError(message, { code: 'ENVIRONMENT_FAILED' }),
  );

const stepFields = ['observation', 'reward', 'done', 'truncated', 'refused', 'metrics'] as const;

function checked(result: unknown, options: GuardOptions): StepResult {
  const by = returned(options);
  const form = '{ observation, done } from a step';
  const { observation, reward, done, truncated, refused, metrics } = by.fields(
    result,
    stepFields,
    form,
  );
  if (typeof observation !== 'string' || typeof done !== 'boolean') throw by.refuse(result, form);
  return {
    observation,
    done,
    ...(reward !== undefined && { reward: by.reward(reward, ' as reward') }),
    truncated: truncated === true,
    refused: refused === true,
    ...(metrics !== undefined && { metrics: by.metrics(metrics) }),
  };
}

/** Validates the episode without copying it, because it may be an instance of a class. */
function checkEpisode(episode: Episode, options: GuardOptions): Episode {
  const by = returned(options);
  const form = 'an episode with observation, step and close from a reset';
  const { observation, step, close } = by.fields(episode, ['observation', 'step', 'close'], form);
  if (typeof observation === 'string' && typeof step === 'function' && typeof close === 'function')
    return episode;
  throw by.refuse(episode, form);
}

const tooLate = (
  what: string,
  { name, timeoutMs, key = 'environment_timeout', limitName = `workflow_args.${key}` }: Limit,
): EnvironmentError =>
  new EnvironmentError(
    `Environment "${name}" did not answer ${what} within ${timeoutMs / 1000} s (${limitName}).`,
    { code: 'ENVIRONMENT_TIMEOUT' },
  );

const broken = ({ name }: GuardOptions, what: string, cause?: unknown): EnvironmentError =>
  new EnvironmentError(`Environment "${name}" ${what}.`, { code: 'ENVIRONMENT_FAILED', cause });
