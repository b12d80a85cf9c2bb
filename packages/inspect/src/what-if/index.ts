export type { RunSignal } from './evaluate.js';
export type { RecordedTask, TaskOf } from './rewards.js';
export {
  usableParts,
  type PartsContext,
  type RecordedAnswer,
  type RecordedReward,
  type Usable,
  type Variant,
} from './variant.js';
export {
  whatIf,
  type ComparedGroup,
  type ComparedRun,
  type RankedRun,
  type VariantSummary,
  type WhatIf,
  type WhatIfOptions,
} from './what-if.js';
export { changed, newestSteps, variantOf, type Change } from './recorded.js';
