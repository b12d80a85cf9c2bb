export type { SyncRules, SyncStyle } from './rules/settings.js';
export type {
  SynchronizerOptions,
  SynchronizerSettings,
  SyncOutcome,
  SyncResult,
  WeightTransport,
} from './sync-parts.js';
export { createSynchronizer, type Synchronizer } from './synchronizer.js';
