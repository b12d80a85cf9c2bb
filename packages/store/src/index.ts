export { openRunStore, type OpenRunStoreOptions } from './open-run-store.js';
export type { RunStoreOptions } from './run/run-store.js';
