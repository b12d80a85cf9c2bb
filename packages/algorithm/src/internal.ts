/** Exports for other packages of this repository. This interface is not stable. */
export { rejectionNames, type RejectionOption } from './correction/rejection.js';
export type { RolloutCorrection } from './correction/rollout-correction.js';
export { lossAggModes } from './parts/aggregate.js';
export { isAlgorithmPlugin } from './registry/definitions.js';
export { expertCount } from './strategies/table.js';
