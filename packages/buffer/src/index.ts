export * from './source/open-task-source.js';
export type { Selector } from './source/row-order.js';
export * from './source/scheduler.js';
export { createTaskSource, type TaskOrderOptions } from './source/task-source.js';
export type { LeaseStoreOptions } from './store/lease-store.js';
export * from './store/memory.js';
export * from './store/sqlite.js';
