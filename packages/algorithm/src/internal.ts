/** What our own packages share; no promise of stability. */
export { lossAggModes } from './parts/aggregate.js';
export { isAlgorithmPlugin } from './registry/definitions.js';
export { expertCount } from './strategies/table.js';
