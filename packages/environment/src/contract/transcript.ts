/** Records episodes of an environment under test as plain data that can be compared. */
import {
  describeError,
  EnvironmentError,
  type Clock,
  type RawTask,
  silentLogger,
  systemClock,
} from '@trinity-rft/core';
import { beginEpisode, type GuardedEpisode } from '../play/guarded-episode.js';
import { playPolicy } from '../play/play-policy.js';
import type { EnvironmentDefinition } from '../seam/define.js';
import type { Action, Environment, EpisodeStart, Solver, StepResult } from '../seam/types.js';
import { within } from '../waiting/within.js';

type Args = Readonly<Record<string, unknown>>;

/** An open environment to check, and the settings of the checks. */
export interface Subject {
  readonly definition: EnvironmentDefinition;
  readonly args: Args;
  readonly environment: Environment;
  /** Task rows to play. */
  readonly rows: readonly RawTask[];
  readonly episodesAtOnce: number;
  /** Timeout of each call to the environment, in milliseconds. */
  readonly timeoutMs: number;
  readonly limitName: string;
  readonly signal: AbortSignal;
}

export interface Transcript {
  readonly start: Pick<GuardedEpisode, 'observation' | 'instructions' | 'tools'>;
  readonly steps: readonly (StepResult & { readonly stateKey: string | undefined })[];
  /**
   * Reward of the episode, which the environment's default rule computes from the rewards of the
   * steps and the grade.
   */
  readonly reward: number;
  readonly isDone: boolean;
}

const clock: Pick<Clock, 'after' | 'now'> = systemClock;

export const begin = (
  { definition, environment, timeoutMs, limitName, signal }: Subject,
  start: EpisodeStart,
): Promise<GuardedEpisode> =>
  beginEpisode(environment, start, {
    name: definition.name,
    timeoutMs,
    limitName,
    clock,
    logger: silentLogger,
    signal,
  });

/**
 * Plays an episode from `start` until it ends, the policy stops, or the turn limit is reached, and
 * returns its transcript.
 */
export async function transcriptOf(
  subject: Subject,
  start: EpisodeStart,
  policy: Solver,
): Promise<Transcript> {
  const episode = await begin(subject, start);
  const { observation, instructions, tools } = episode;
  try {
    const { steps, reward, isDone } = await playPolicy(episode, policy, subject.definition.play);
    return {
      start: { observation, instructions, tools },
      steps: steps.map(({ result, stateKey }) => ({ ...result, stateKey })),
      reward,
      isDone,
    };
  } finally {
    await episode.close();
  }
}

/**
 * Returns the environment's solver. If there is none, returns a policy that takes three meaningless
 * actions.
 */
export const solverOf = ({ definition, args }: Subject, start: EpisodeStart): Solver =>
  definition.solver?.(start, args) ?? says('', '?', '1');

/** Creates a policy that takes these text actions one after the other and then stops. */
export function says(...texts: readonly string[]): Solver {
  const left = [...texts];
  return () => {
    const text = left.shift();
    return text === undefined ? undefined : ({ type: 'text', text } satisfies Action);
  };
}

/** Returns the error message if `work` rejects, otherwise undefined. */
export async function failureOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}

/**
 * Calls `work`, and rejects if it takes longer than `timeoutMs`. The signal that `work` receives
 * aborts only on the timeout, so that episodes are closed even if the checks are aborted.
 */
export const inTime = <T>(
  { timeoutMs: ms }: Pick<Subject, 'timeoutMs'>,
  work: (ended: AbortSignal) => Promise<T>,
): Promise<T> => within({ ms, signal: never }, () => tooLate(ms), work);

/**
 * Calls `open` with the timeout of {@link inTime}. The signal that `open` receives also aborts with
 * `signal`. If the resource opens after the timeout, it is closed.
 */
export const openInTime = <T extends { close(): Promise<void> }>(
  { timeoutMs, signal }: Pick<Subject, 'timeoutMs' | 'signal'>,
  open: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  inTime({ timeoutMs }, async (ended) => {
    const opened = await open(AbortSignal.any([signal, ended]));
    if (ended.aborted) await opened.close();
    return opened;
  });

const never = new AbortController().signal;

const tooLate = (ms: number): EnvironmentError =>
  new EnvironmentError(`There was no answer within ${ms / 1000} s.`, {
    code: 'ENVIRONMENT_TIMEOUT',
  });
