/**
 * Building blocks for custom experience stores. A custom driver only has to store rows. The queue
 * and the leases are implemented on top of any driver.
 */
export { leaseStore, type LeaseStoreOptions } from './store/lease-store.js';
export { memoryRows } from './store/memory.js';
export type { RowDriver } from './store/row-driver.js';
