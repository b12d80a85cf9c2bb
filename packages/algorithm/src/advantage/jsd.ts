/** Distillation by the Jensen-Shannon divergence between student and teacher, on the student's own samples. */
import { choiceArg, numberArg, type ArgValues, type BatchAdvantageFn } from '@trinity-rft/core';
import { onExperiences } from './on-experiences.js';
import { defineAdvantagePart } from './strategy.js';
import { towardsTeacher } from './teacher.js';

const args = {
  lambdaCoef: numberArg(0.5, { min: 0, max: 1 }, 'Share b of the teacher in the mixture that both are compared with.'),
  klCoef: numberArg(1, { min: 0 }, 'Scale of the advantages.'),
  temperature: numberArg(1, { above: 0 }, 'Divides the log-probabilities of student and teacher.'),
  chunkSize: numberArg(undefined, { min: 1 }, 'Without effect: nothing is computed in chunks.'),
  form: choiceArg(
    ['sampled', 'original', 'gradient'],
    'sampled',
    'sampled: the terms of the divergence at the sampled token. original: the same, but at lambda_coef 1 away from the teacher, as Trinity-RFT 0.5.2. ' +
      'gradient: the exact policy gradient of the divergence.',
  ),
};

/**
 * With s, t the log-probabilities of student and teacher over temperature, b = lambdaCoef and log M = log((1 - b) e^s + b e^t):
 *
 * - `sampled`: J = b (t - log M) + (1 - b) (s - log M), and J = s - t at b = 0 and 1. The definition of Trinity-RFT 0.5.2, whose
 *   b = 1 has t - s (`original`).
 * - `gradient`: J = -log(1 + b (e^(t - s) - 1)) / b. That is the policy gradient of b KL(T || M) + (1 - b) KL(S || M), over
 *   b (1 - b) so that it does not vanish: b = 1 is KL(student || teacher), b = 0 is KL(teacher || student).
 *
 * A_t = -klCoef J on trained tokens. Metrics: `jsd/mean`, `jsd/std`, `advantages/mean`, over the sums of each row.
 */
export const jsd = defineAdvantagePart({
  args,
  doc: {
    summary: 'Pulls sampled tokens towards a mixture of student and teacher.',
    formula: 'A_t = -c (b (t - log M) + (1 - b) (s - log M)), log M = log((1 - b) e^s + b e^t)',
    source: {
      title: 'On-Policy Distillation of Language Models: Learning from Self-Generated Mistakes',
      url: 'https://arxiv.org/abs/2306.13649',
    },
  },
  comparesRuns: false,
  create: (options) => {
    const divergence = divergenceOf(options);
    const { klCoef, temperature } = options;
    const compute: BatchAdvantageFn = (input) =>
      towardsTeacher(input, {
        name: 'jsd',
        coefficient: klCoef,
        divergence: (student, teacher) => divergence(student / temperature, teacher / temperature),
      });
    return { advantage: onExperiences(compute, { rewards: false }), batchAdvantage: compute, needs: { teacherLogprobs: true } };
  },
});

/** Largest t - s that is exponentiated: a token that the student hardly ever samples must not drown the batch. */
const largestGap = 20;

function divergenceOf({ lambdaCoef: b, form }: ArgValues<typeof args>): (s: number, t: number) => number {
  if (form === 'gradient') {
    if (b === 0) return (s, t) => -Math.expm1(Math.min(t - s, largestGap));
    return (s, t) => -Math.log1p(b * Math.expm1(Math.min(t - s, largestGap))) / b;
  }
  if (b === 0) return (s, t) => s - t;
  if (b === 1) return form === 'original' ? (s, t) => t - s : (s, t) => s - t;
  return (s, t) => {
    // log M around the larger of the two, so that neither underflows.
    const top = Math.max(s, t);
    const logMixture = top + Math.log((1 - b) * Math.exp(s - top) + b * Math.exp(t - top));
    return b * (t - logMixture) + (1 - b) * (s - logMixture);
  };
}
