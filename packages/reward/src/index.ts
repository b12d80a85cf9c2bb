export * from './create.js';
export * from './checker/checker.js';
export type { MathPair, MathRule } from './checker/rules.js';
export { sharedMathChecker } from './checker/shared.js';
export type { RewardKind, RewardTools } from './define.js';
export * from './math/check.js';
export * as original from './original/index.js';
export { overlongPenalty, type OverlongOptions } from './overlong.js';
