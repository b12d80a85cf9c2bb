export * from './create.js';
export type { RewardKind } from './define.js';
export * from './math/check.js';
export * as original from './original/index.js';
export { overlongPenalty, type OverlongOptions } from './overlong.js';
