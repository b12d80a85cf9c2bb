/** The advantage functions by the names of YAML's `advantage_fn`. A new one is a file here and a row. */
import type { AdvantageFn } from '@trinity-rft/core';
import type { Part } from '../part.js';
import { grpo } from './grpo.js';
import { stepWiseGrpo } from './step-wise-grpo.js';

/** Made from arguments and the run's seed. */
export type AdvantagePart = Part<AdvantageFn, readonly [seed: number]>;

export const advantageFns = { grpo, step_wise_grpo: stepWiseGrpo } satisfies Readonly<Record<string, AdvantagePart>>;
