/**
 * Building blocks for custom experience stores. A custom driver only stores rows. The queue and its
 * leases work with any driver.
 */
export { leaseStore, type LeaseStoreOptions } from './store/lease-store.js';
export { memoryRows } from './store/memory.js';
export type { RowDriver } from './store/row-driver.js';
