/** The advantage functions by the names of YAML's `advantage_fn`. A new one is a file here and a row. */
import { grpo } from './grpo.js';
import { stepWiseGrpo } from './step-wise-grpo.js';
import type { AdvantagePart } from './strategy.js';

export const advantageFns = { grpo, step_wise_grpo: stepWiseGrpo } satisfies Readonly<Record<string, AdvantagePart>>;
