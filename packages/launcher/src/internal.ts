/** For the packages and apps of this repository; may change at any time. */
export { engineTable } from './assembly/models/engines.js';
export { debugFiles } from './debug/files.js';
export { openRollouts, type Rollouts, type RolloutsOptions } from './debug/rollouts.js';
export { loadExtensions, timestamp } from './run/configuration.js';
