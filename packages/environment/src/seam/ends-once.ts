/** An episode that is over takes no further steps: an answer to one would be of another episode. */
import type { Episode } from '../../seam/types.js';
import { broken } from './waiting.js';

/** @param who as messages name it */
export function endsOnce(who: string, episode: Episode): Episode {
  let isOver = false;
  return {
    ...episode,
    step: async (action, signal) => {
      if (isOver)
        throw broken(
          'ENVIRONMENT_OVER',
          `${who} was asked for a step after the end of an episode.`,
        );
      const result = await episode.step(action, signal);
      isOver = result.done;
      return result;
    },
  };
}
