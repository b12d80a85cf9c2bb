/** Shared by the packages of this repository; may change without notice. */
export { lossAggModes } from './parts/aggregate.js';
export { isAlgorithmPlugin } from './registry/definitions.js';
export { expertCount } from './strategies/table.js';
