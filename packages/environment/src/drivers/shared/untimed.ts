/** Waits of drivers for what other episodes use. */
import type { EpisodeStart, Untimed } from '../../seam/types.js';

/** Returns the function that excludes waits from the time limits of an episode, if it has any. */
export const untimedOf = ({ untimed = (wait) => wait() }: EpisodeStart): Untimed => untimed;
