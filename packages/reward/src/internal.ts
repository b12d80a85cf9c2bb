/** What our own packages share; no promise of stability. */
export { sharedMathChecker } from './checker/checker.js';
export { pythonValue } from './math/python-expression.js';
export { overlongPenalty } from './rewards/shared/overlong.js';
export { rewardsOfTruth } from './create.js';
