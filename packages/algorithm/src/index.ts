export * from './advantage/table.js';
export * from './aggregate.js';
export * from './create-algorithm.js';
export * from './entropy/table.js';
export * from './kl/table.js';
export type { LossTerm, Part, TermOutput, TermWithNeeds } from './part.js';
export * from './policy-loss/table.js';
export * from './presets.js';
