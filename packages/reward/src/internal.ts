export { sharedMathChecker } from './checker/checker.js';
export { overlongPenalty, type OverlongOptions } from './rewards/shared/overlong.js';
