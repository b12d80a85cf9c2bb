export type { RunSignal } from './evaluate.js';
export type { RecordedTask, TaskOf } from './rewards.js';
export type { PartsContext, RecordedAnswer, RecordedReward, Variant } from './variant.js';
export {
  whatIf,
  type ComparedGroup,
  type ComparedRun,
  type RankedRun,
  type VariantSummary,
  type WhatIf,
  type WhatIfOptions,
} from './what-if.js';
