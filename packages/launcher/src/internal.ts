/** What our own packages share; no promise of stability. */
export { engineTable } from './assembly/models/engines.js';
export { debugFiles } from './debug/files.js';
export { type Rollouts, openRollouts } from './debug/rollouts.js';
export { loadExtensions, timestamp } from './run/configuration.js';
export { lockHolder } from './run/lock.js';
export { readSource, writeSource } from './run/source.js';
