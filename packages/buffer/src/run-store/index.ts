export {
  openRunStore,
  readRunStore,
  type OpenRunStoreOptions,
  type RunReader,
} from './open-run-store.js';
export type { RunStoreOptions } from './run/run-store.js';
export type { RunClaim } from './run/context.js';
