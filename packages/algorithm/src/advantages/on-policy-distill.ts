/** Distillation on the student's own samples. */
import { numberArg, type AdvantageInput, type AdvantageOutput } from '@trinity-rft/core';
import { onExperiences } from './on-experiences.js';
import type { Take } from './pack-rows.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { towardsTeacher, type Divergence } from './teacher.js';

const args = { klCoef: numberArg(1, { min: 0 }, 'Scale of the advantages.') };

/**
 * A_t = klCoef * (teacher - student) log-probability on trained tokens: the policy gradient of
 * KL(student || teacher) per token. Metrics: `kl/mean`, `kl/std`, `advantages/mean`, over the sums
 * of each row.
 */
export const onPolicyDistill = defineAdvantagePart({
  args,
  doc: {
    summary: 'Pulls every sampled token towards the probability that a teacher gives it.',
    formula: 'A_t = c (log p_teacher - log p_student)_t',
    source: {
      title: 'On-Policy Distillation',
      url: 'https://thinkingmachines.ai/blog/on-policy-distillation/',
    },
  },
  comparesRuns: false,
  create: ({ klCoef }) => {
    const compute = (input: AdvantageInput, take?: Take): AdvantageOutput =>
      towardsTeacher(input, { name: 'kl', coefficient: klCoef, divergence: negative }, take);
    return {
      advantage: onExperiences(compute, { rewards: false }),
      batchAdvantage: compute,
      needs: { teacherLogprobs: true },
    };
  },
});

const negative: Divergence = (u, size) => {
  for (let i = 0; i < size; i++) u[i] = -u[i]!;
};
