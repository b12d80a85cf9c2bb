export * from './create.js';
export * from './checker/checker.js';
export type { MathPair, MathRule } from './checker/rules.js';
export type { RewardKind, RewardTools } from './rewards/shared/define.js';
export * from './math/check.js';
export * as original from './original.js';
export { overlongPenalty, type OverlongOptions } from './rewards/shared/overlong.js';
