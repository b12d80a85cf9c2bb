/** What our own packages share; no promise of stability. */
export { exploreTurn, exploreUpTo, type ExploreFacts, type ExploreTurn } from './rules/explore.js';
export {
  boundaryAfter,
  boundaryBefore,
  isBoundary,
  stalenessBound,
  type SyncRules,
  type SyncStyle,
  type Weights,
} from './rules/settings.js';
export {
  publication,
  settledUpTo,
  trainUpTo,
  type ProgressFacts,
  type TrainFacts,
} from './rules/train.js';
