/** Calls of an environment, each within a time limit. */
import { EnvironmentError, systemClock } from '@trinity-rft/core';
import type { Environment, Episode, EpisodeStart } from '../../seam/types.js';
import { createDeadlineClock } from '../../waiting/deadline-clock.js';
import { within, type Patience } from '../../waiting/within.js';

export interface Calls {
  /** Begins an episode. Closes an episode that begins after the time limit. */
  begin(environment: Environment, start: EpisodeStart): Promise<Episode>;
  /** Executes `work` within the time limit. `what` names the work in the error message. */
  inTime<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Closes the episode even if the server is being stopped. */
  close(episode: Episode): Promise<void>;
}

/** Limits the time of the calls of one episode after the other. */
export function limitCalls({ ms, signal: stopped }: Patience): Calls {
  const { clock, untimed } = createDeadlineClock(systemClock);
  const inTime = <T>(
    what: string,
    work: (signal: AbortSignal) => Promise<T>,
    signal = stopped,
  ): Promise<T> => within({ ms, signal, clock }, () => tooLate(what, ms), work);
  return {
    begin: (environment, start) =>
      inTime('reset', async (signal) => {
        const episode = await environment.reset({ ...start, untimed }, signal);
        if (signal.aborted) await episode.close();
        return episode;
      }),
    inTime: (what, work) => inTime(what, work),
    close: (episode) => inTime('close', () => episode.close(), new AbortController().signal),
  };
}

const tooLate = (what: string, ms: number): EnvironmentError =>
  new EnvironmentError(`The environment did not answer "${what}" within ${ms / 1000} s.`, {
    code: 'ENVIRONMENT_TIMEOUT',
  });
