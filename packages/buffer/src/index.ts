export * from './store/memory.js';
export * from './store/sqlite.js';
export type { LeaseStoreOptions } from './store/lease-store.js';
