/**
 * Distillation by the Jensen-Shannon divergence between student and teacher, on the student's own
 * samples.
 */
import { choiceArg, numberArg, type ArgValues, type BatchAdvantageFn } from '@trinity-rft/core';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { taught, towardsTeacher } from './shared/teacher.js';

const args = {
  lambdaCoef: numberArg(
    0.5,
    { min: 0, max: 1 },
    'Share b of the teacher in the mixture that both are compared with.',
  ),
  klCoef: numberArg(1, { min: 0 }, 'Scale of the advantages.'),
  temperature: numberArg(1, { above: 0 }, 'Divides the log-probabilities of student and teacher.'),
  chunkSize: numberArg(undefined, { min: 1 }, 'Without effect: nothing is computed in chunks.'),
  form: choiceArg(
    ['sampled', 'original', 'gradient'],
    'sampled',
    'gradient: the policy gradient of the divergence. sampled: its terms at the sampled token, as Trinity-RFT 0.5.2, which never push a token down. ' +
      'original: also its lambda_coef 1, which pushes away from the teacher.',
  ),
};

/**
 * Computes A_t = -klCoef J on trained tokens. With s and t the log-probabilities of student and
 * teacher divided by the temperature, b = lambdaCoef and log M = log((1 - b) e^s + b e^t), `form`
 * selects J:
 *
 * - `gradient`: J = -log(1 + b (e^(t - s) - 1)) / b, the policy gradient of b KL(T || M) + (1 - b)
 *   KL(S || M), divided by b (1 - b) so that it does not vanish. b = 1 is KL(student || teacher), b
 *   = 0 is KL(teacher || student).
 * - `sampled`, as in Trinity-RFT 0.5.2: J = b (t - log M) + (1 - b) (s - log M). For 0 < b < 1 this
 *   is never above 0, so no token's probability is ever reduced. J = s - t at b = 0 and 1.
 * - `original`: like `sampled`, but J = t - s at b = 1, which moves away from the teacher.
 *
 * Metrics over rows, of the sums of J and A over each row: `jsd/mean`, `jsd/std`,
 * `advantages/mean`.
 */
export const jsd = defineAdvantagePart({
  args,
  doc: {
    summary: 'Pulls sampled tokens towards a mixture of student and teacher.',
    formula:
      'gradient: A_t = c log(1 - b + b e^u) / b; sampled: A_t = c (log(1 - b + b e^u) - b u); u = log p_teacher - log p_student',
    source: {
      title: 'On-Policy Distillation of Language Models: Learning from Self-Generated Mistakes',
      url: 'https://arxiv.org/abs/2306.13649',
    },
  },
  comparesRuns: false,
  create: (options) => {
    const divergence = divergenceOf(options);
    const compute: BatchAdvantageFn = (input) =>
      towardsTeacher(input, { name: 'jsd', coefficient: options.klCoef, divergence });
    return {
      advantage: taught(compute),
      batchAdvantage: compute,
      needs: { teacherLogprobs: true },
    };
  },
});

/**
 * Largest t - s (teacher minus student log-probability) that `gradient` exponentiates, so that
 * tokens with a tiny student probability do not dominate the batch.
 */
const largestGap = 20;

/** Returns J as a function of t - s, where t and s are not yet divided by the temperature. */
function divergenceOf({
  lambdaCoef: b,
  form,
  temperature,
}: ArgValues<typeof args>): (gap: number) => number {
  const scale = 1 / temperature;
  if (form === 'gradient' && b === 0)
    return (gap) => 1 - Math.exp(Math.min(gap * scale, largestGap));
  if (form === 'original' && b === 1) return (gap) => gap * scale;
  if (b === 0 || b === 1) return (gap) => -gap * scale;
  if (form === 'gradient')
    return (gap) => -Math.log(1 - b + b * Math.exp(Math.min(gap * scale, largestGap))) / b;
  // Computes b u - log(1 - b + b e^u) relative to the larger of s and t, so that nothing overflows.
  return (gap) => {
    const u = gap * scale;
    return u <= 0
      ? b * u - Math.log(1 - b + b * Math.exp(u))
      : (b - 1) * u - Math.log(b + (1 - b) * Math.exp(-u));
  };
}
