/** Distillation on the student's own samples. */
import { numberArg, type BatchAdvantageFn } from '@trinity-rft/core';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { taught, towardsTeacher } from './shared/teacher.js';

const args = { klCoef: numberArg(1, { min: 0 }, 'Scale of the advantages.') };

/**
 * Computes A_t = klCoef * (teacher - student) log-probability on trained tokens, which is the
 * policy gradient of KL(student || teacher) per token. Metrics over rows, of the sums over each
 * row: `kl/mean`, `kl/std`, `advantages/mean`.
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
    const compute: BatchAdvantageFn = (input) =>
      towardsTeacher(input, { name: 'kl', coefficient: klCoef, divergence: (u) => -u });
    return {
      advantage: taught(compute),
      batchAdvantage: compute,
      needs: { teacherLogprobs: true },
    };
  },
});
