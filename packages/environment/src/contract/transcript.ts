/** Episodes of an environment under test, as comparable data. */
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

/** An open environment and the settings of its checks. */
export interface Subject {
  readonly definition: EnvironmentDefinition;
  readonly args: Args;
  readonly environment: Environment;
  /** Rows to play. */
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
   * Reward of the episode: the rewards of the steps and the grade, combined by the environment's
   * default rule.
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
 * Plays an episode from `start` until the episode ends, the policy stops, or the turn limit is
 * reached.
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
 * Returns the environment's solver, or, if there is none, a policy with three meaningless actions.
 */
export const solverOf = ({ definition, args }: Subject, start: EpisodeStart): Solver =>
  definition.solver?.(start, args) ?? says('', '?', '1');

/** Creates a policy that writes these text actions and then stops. */
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
 * Rejects if the work takes longer than `timeoutMs`. Takes no signal, so that episodes are closed
 * even if the checks are aborted. The signal that `work` receives aborts on the timeout.
 */
export const inTime = <T>(
  { timeoutMs: ms }: Pick<Subject, 'timeoutMs'>,
  work: (ended: AbortSignal) => Promise<T>,
): Promise<T> => within({ ms, signal: never }, () => tooLate(ms), work);

/**
 * Like {@link inTime}, but also aborts with `signal`, and closes a resource that opens after the
 * timeout.
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
