/** What the advantages of distillation share: a divergence from the teacher per sampled token. */
import { InvariantError, mean, sampleStd, type AdvantageInput, type AdvantageOutput } from '@trinity-rft/core';
import { checkAdvantageInput } from '../check-input.js';

/**
 * A_t = -coefficient * divergence(u) on trained tokens, u = teacher - student (at sampling) log-probability.
 * Rewards and groups do not matter. Metrics: `<name>/mean` and `<name>/std` of the sum of the divergence over each row (sample
 * deviation, 0 for one row), `advantages/mean` of the sum of the advantages over each row.
 */
export function towardsTeacher(
  input: AdvantageInput,
  options: { readonly name: string; readonly coefficient: number; readonly divergence: (gap: number) => number },
): AdvantageOutput {
  checkAdvantageInput(input, ['oldLogprobs', 'teacherLogprobs']);
  const { offsets, actionMask, oldLogprobs, teacherLogprobs } = input;
  if (!teacherLogprobs)
    throw new InvariantError(
      'Distillation was given no log-probabilities of a teacher; let the workflow write `teacherLogprobs` on every experience.',
      { code: 'TEACHER_MISSING' },
    );
  const { name, coefficient, divergence } = options;
  const advantages = new Float32Array(actionMask.length);
  const sums = new Float64Array(offsets.length - 1);
  for (let row = 0; row < sums.length; row++) {
    let sum = 0;
    for (let t = offsets[row]!; t < offsets[row + 1]!; t++) {
      if (actionMask[t] === 0) continue;
      const value = divergence(teacherLogprobs[t]! - oldLogprobs[t]!);
      advantages[t] = -coefficient * value;
      sum += value;
    }
    sums[row] = sum;
  }
  const average = mean(sums);
  return {
    advantages,
    returns: advantages.slice(),
    metrics:
      sums.length === 0 ? {} : { [`${name}/mean`]: average, [`${name}/std`]: sampleStd(sums), 'advantages/mean': -coefficient * average },
  };
}
