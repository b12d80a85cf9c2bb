/**
 * Rejects steps after the end of an episode, because their results could belong to another episode.
 */
import { EnvironmentError } from '@trinity-rft/core';
import type { Episode, StepResult } from './types.js';

/**
 * Wraps an episode so that a step after its end throws an error.
 * @param who name of the environment in error messages
 */
export function endsOnce(who: string, episode: Episode): Episode {
  let isOver = false;
  return {
    ...episode,
    step: async (action, signal) => {
      if (isOver) throw afterTheEnd(who);
      const result = await episode.step(action, signal);
      // A plugin may return anything. The caller of `step` checks it.
      isOver = (result as Partial<StepResult> | undefined)?.done === true;
      return result;
    },
    close: async () => {
      isOver = true;
      await episode.close();
    },
  };
}

const afterTheEnd = (who: string): EnvironmentError =>
  new EnvironmentError(`${who} was asked for a step after the end of an episode.`, {
    code: 'ENVIRONMENT_OVER',
  });
