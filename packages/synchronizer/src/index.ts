export type {
  SynchronizerOptions,
  SynchronizerSettings,
  SyncOutcome,
  SyncResult,
  SyncStyle,
  WeightTransport,
} from './sync-parts.js';
export { createSynchronizer, type Synchronizer } from './synchronizer.js';
