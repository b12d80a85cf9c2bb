/**
 * Interfaces of stores: task and experience sources, the store that the processes of a run share,
 * and helpers for drivers.
 */
export * from './buffer.js';
export * from './checked-tables.js';
export * from './codec-fields.js';
export { decodeExperience, encodeExperience } from './codec.js';
export * from './error-record.js';
export * from './late-rewards.js';
export * from './run-store.js';
export * from './sqlite.js';
