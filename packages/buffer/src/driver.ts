/** For an experience store of one's own: a driver keeps rows; the queue and its leases are made over it. */
export { leaseStore, type LeaseStoreOptions } from './store/lease-store.js';
export { memoryRows } from './store/memory.js';
export type { RowDriver } from './store/row-driver.js';
