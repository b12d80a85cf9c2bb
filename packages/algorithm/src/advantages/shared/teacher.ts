/**
 * Computes advantages for distillation from a divergence between student and teacher at each
 * sampled token.
 */
import {
  InvariantError,
  mean,
  RewardError,
  uid,
  type AdvantageFn,
  type BatchAdvantageFn,
} from '@trinity-rft/core';
import { sampleStd, type AdvantageInput, type AdvantageOutput } from '@trinity-rft/core/internal';
import { checkAdvantageInput } from '../../parts/check-input.js';
import { rowSpans } from '../../parts/rows.js';
import { onExperiences } from './on-experiences.js';

/**
 * Makes an advantage function for explore steps from a function over token arrays that reads
 * log-probabilities of a teacher and no rewards.
 * @throws RewardError naming the first experience without log-probabilities of a teacher
 */
export const taught = (compute: BatchAdvantageFn): AdvantageFn => {
  const computeAll = onExperiences(compute, { rewards: false });
  return (experiences) => {
    const untaught = experiences.find(({ teacherLogprobs }) => !teacherLogprobs);
    if (!untaught) return computeAll(experiences);
    throw new RewardError(
      `Experience ${uid(untaught.eid)} has no log-probabilities of a teacher; distillation needs them. ` +
        'Use a workflow that asks a teacher, or set teacherLogprobs.',
      { code: 'TEACHER_MISSING', details: { uid: uid(untaught.eid) } },
    );
  };
};

export interface DistillOptions {
  /** Prefix of the metrics. */
  readonly name: string;
  readonly coefficient: number;
  /** Divergence as a function of u = teacher - student log-probability of a sampled token. */
  readonly divergence: (u: number) => number;
}

/**
 * Computes A_t = -coefficient * divergence(u_t) on trained tokens, where u_t uses the student's
 * log-probability at sampling. `returns` is the same array. Does not read rewards or groups.
 * Metrics: `<name>/mean` and `<name>/std` of the sum of the divergence over each row (sample
 * deviation, 0 for one row), `advantages/mean` of the sum of the advantages over each row.
 * @throws InvariantError if there are no log-probabilities of a teacher
 */
export function towardsTeacher(
  input: AdvantageInput,
  { name, coefficient, divergence }: DistillOptions,
): AdvantageOutput {
  checkAdvantageInput(input, ['oldLogprobs', 'teacherLogprobs']);
  const { offsets, actionMask, oldLogprobs, teacherLogprobs } = input;
  if (!teacherLogprobs)
    throw new InvariantError(
      'Distillation was given no log-probabilities of a teacher; let the workflow write `teacherLogprobs` on every experience.',
      { code: 'TEACHER_MISSING' },
    );
  const advantages = new Float32Array(actionMask.length);
  const sums = rowSpans(offsets).map(({ start, end }) => {
    let sum = 0;
    for (let t = start; t < end; t++) {
      if (actionMask[t] === 0) continue;
      const value = divergence(teacherLogprobs[t]! - oldLogprobs[t]!);
      advantages[t] = -coefficient * value;
      sum += value;
    }
    return sum;
  });
  if (sums.length === 0) return { advantages, returns: advantages, metrics: {} };
  const metrics = {
    [`${name}/mean`]: mean(sums),
    [`${name}/std`]: sampleStd(sums),
    'advantages/mean': -coefficient * mean(sums),
  };
  return { advantages, returns: advantages, metrics };
}
