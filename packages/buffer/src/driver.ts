/**
 * Parts for custom experience stores. A custom driver stores rows; the queue and its leases use any
 * driver.
 */
export { leaseStore, type LeaseStoreOptions } from './store/lease-store.js';
export { memoryRows } from './store/memory.js';
export type { RowDriver } from './store/row-driver.js';
