/**
 * Parts for custom experience stores: a driver that stores rows, over which the queue and its
 * leases are built.
 */
export { leaseStore, type LeaseStoreOptions } from './store/lease-store.js';
export { memoryRows } from './store/memory.js';
export type { RowDriver } from './store/row-driver.js';
