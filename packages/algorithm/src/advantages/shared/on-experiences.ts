/**
 * Adapts advantage functions over packed token arrays, so that they can be called with experiences.
 */
import {
  type AdvantageFn,
  type BatchAdvantageFn,
  type Experience,
  responseLength,
  withFields,
} from '@trinity-rft/core';
import type { AdvantageOutput } from '@trinity-rft/core/internal';
import { pack, rowsOf, type Row } from './pack-rows.js';

export interface OnExperiencesOptions {
  /**
   * True if the function reads rewards. Every call must then have a reward or token rewards.
   * @default true
   */
  readonly rewards?: boolean;
  /**
   * True if the function reads log-probabilities. Otherwise the policy's log-probabilities are 0,
   * and the teacher's are absent.
   * @default true
   */
  readonly logprobs?: boolean;
}

/**
 * Makes an advantage function for explore steps from a function over token arrays. Each model call
 * becomes a row: a whole experience, or each span of an experience with several calls. If the
 * experience has no token rewards, the reward of a call is assigned to the call's last response
 * token, trained or not. Rows belong to the task that `eid` names. Tokens between the calls of an
 * experience have advantage 0. If `compute` changes the mask, the new mask replaces that of the
 * experience.
 * @throws RewardError for a call without a finite reward
 */
export function onExperiences(
  compute: BatchAdvantageFn,
  { rewards = true, logprobs = true }: OnExperiencesOptions = {},
): AdvantageFn {
  return (experiences) => {
    if (experiences.length === 0) return { experiences, metrics: {} };
    const rows = experiences.map(rowsOf);
    const input = pack(rows.flat(), { rewards, logprobs });
    const output = compute(input);
    let row = 0;
    const out = experiences.map((experience, i) => {
      const own = rows[i]!;
      const first = row;
      row += own.length;
      return withOutput(experience, own, input.offsets.subarray(first, row + 1), output);
    });
    return { experiences: out, metrics: output.metrics };
  };
}

/**
 * Copies the results for an experience's rows to the corresponding positions in the response.
 * Tokens between the rows get the value 0.
 */
function withOutput(
  experience: Experience,
  rows: readonly Row[],
  offsets: Int32Array,
  output: AdvantageOutput,
): Experience {
  const size = responseLength(experience);
  const gather = <A extends Float32Array | Uint8Array>(from: A, empty: (size: number) => A): A => {
    if (rows[0]?.start === 0 && rows[0].end === size)
      return from.slice(offsets[0], offsets[1]) as A;
    const target = empty(size);
    for (const [i, row] of rows.entries())
      target.set(from.subarray(offsets[i], offsets[i + 1]), row.start);
    return target;
  };
  const { advantages, returns, actionMask } = output;
  const own = gather(advantages, (length) => new Float32Array(length));
  return withFields(experience, {
    advantages: own,
    returns: returns === advantages ? own : gather(returns, (length) => new Float32Array(length)),
    ...(actionMask && { actionMask: gather(actionMask, (length) => new Uint8Array(length)) }),
  });
}
