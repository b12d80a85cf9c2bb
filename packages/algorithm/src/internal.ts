/** For the packages of this repository: without promises to anybody else. */
export { lossAggModes } from './parts/aggregate.js';
export { isAlgorithmPlugin } from './registry/definitions.js';
export { expertCount } from './strategies/table.js';
