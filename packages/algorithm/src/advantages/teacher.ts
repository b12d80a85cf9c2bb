/** What the advantages of distillation share: a divergence from the teacher per sampled token. */
import {
  InvariantError,
  mean,
  sampleStd,
  type AdvantageInput,
  type AdvantageOutput,
} from '@trinity-rft/core';
import { checkAdvantageInput } from '../parts/check-input.js';
import { blockSize, eachRow } from '../parts/visit.js';
import { fresh, type Take } from './pack-rows.js';

/** Turns the first `size` numbers u into the divergence at u, in place. */
export type Divergence = (u: Float64Array, size: number) => void;

/**
 * A_t = -coefficient * divergence(u) on trained tokens, u = teacher - student (at sampling)
 * log-probability. `returns` is the same array. Rewards and groups do not matter. Metrics:
 * `<name>/mean` and `<name>/std` of the sum of the divergence over each row (sample deviation, 0
 * for one row), `advantages/mean` of the sum of the advantages over each row.
 */
export function towardsTeacher(
  input: AdvantageInput,
  options: { readonly name: string; readonly coefficient: number; readonly divergence: Divergence },
  take: Take = fresh,
): AdvantageOutput {
  checkAdvantageInput(input, ['oldLogprobs', 'teacherLogprobs']);
  const { offsets, actionMask, oldLogprobs, teacherLogprobs } = input;
  if (!teacherLogprobs)
    throw new InvariantError(
      'Distillation was given no log-probabilities of a teacher; let the workflow write `teacherLogprobs` on every experience.',
      { code: 'TEACHER_MISSING' },
    );
  const { name, coefficient, divergence } = options;
  const advantages = take('advantages', actionMask.length);
  const sums = new Float64Array(offsets.length - 1);
  const values = new Float64Array(blockSize);
  eachRow(offsets, (start, end, row) => {
    for (let from = start; from < end; from += blockSize) {
      const size = Math.min(blockSize, end - from);
      subtract(
        teacherLogprobs.subarray(from, from + size),
        oldLogprobs.subarray(from, from + size),
        values,
      );
      divergence(values, size);
      sums[row]! += addScaled(
        values,
        actionMask.subarray(from, from + size),
        -coefficient,
        advantages.subarray(from, from + size),
      );
    }
  });
  const average = mean(sums);
  return {
    advantages,
    returns: advantages,
    metrics:
      sums.length === 0
        ? {}
        : {
            [`${name}/mean`]: average,
            [`${name}/std`]: sampleStd(sums),
            'advantages/mean': -coefficient * average,
          },
  };
}

function subtract(teacher: Float32Array, student: Float32Array, into: Float64Array): void {
  for (let t = 0; t < teacher.length; t++) into[t] = teacher[t]! - student[t]!;
}

/**
 * Writes trained values times a factor, and 0 for others; returns the sum of the trained values.
 */
function addScaled(
  values: Float64Array,
  actionMask: Uint8Array,
  factor: number,
  into: Float32Array,
): number {
  let sum = 0;
  for (let t = 0; t < actionMask.length; t++) {
    const isTrained = actionMask[t] !== 0;
    into[t] = isTrained ? factor * values[t]! : 0;
    if (isTrained) sum += values[t]!;
  }
  return sum;
}
