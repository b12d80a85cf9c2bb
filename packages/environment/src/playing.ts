/**
 * Functions for programs that play environments: the registry, guarded episodes, demonstrations,
 * and descriptions of arguments.
 */
export { createEnvironments, type Environments } from './open/environments.js';
export { patternOf } from './play/action-format.js';
export { type Demonstration, demonstrate } from './play/demonstrate.js';
export { beginEpisode, type GuardOptions, type GuardedEpisode } from './play/guarded-episode.js';
export {
  type EpisodeEnd,
  type PlayOptions,
  type PlayedEpisode,
  type PlayedTurn,
  playEpisode,
} from './play/play-episode.js';
export { type DescribedArg, describeArgs } from './seam/describe-args.js';
export { isEnvironmentDefinition } from './seam/define.js';
export { drivers } from './drivers/table.js';
