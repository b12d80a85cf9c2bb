/**
 * Interfaces of task and experience sources and of the run store, and helpers for storage drivers.
 */
export * from './buffer.js';
export * from './checked-tables.js';
export * from './codec-fields.js';
export { decodeExperience, encodeExperience } from './codec.js';
export * from './error-record.js';
export * from './late-rewards.js';
export * from './run-store.js';
export * from './sqlite.js';
export * from './sqlite-lock.js';
