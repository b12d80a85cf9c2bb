/** Packs the model calls of experiences into token arrays. */
import { groupBy, spansOf, taskKey, type AdvantageInput, type Experience } from '@trinity-rft/core';
import { rewardOf } from './groups.js';
import type { OnExperiencesOptions } from './on-experiences.js';

/** A model call: of an experience, or a span of one. */
export interface Row {
  readonly experience: Experience;
  /** Response tokens [start, end). */
  readonly start: number;
  readonly end: number;
  readonly reward: number | undefined;
}

export function rowsOf(experience: Experience): readonly Row[] {
  const spans = spansOf(experience);
  return spans.map(({ start, end, reward }, i) => ({
    experience,
    start,
    end,
    reward: reward ?? (i === spans.length - 1 ? experience.reward : undefined),
  }));
}

/**
 * Arrays that calls are packed into, kept from one explore step to the next: the pages of fresh
 * ones take longer than what is computed from them. Results are copied into arrays of each
 * experience, so nobody else sees these.
 */
export type Floats = Map<string, Float32Array>;

/** An array of any content, under a name of its own. */
export type Take = (name: string, size: number) => Float32Array;

/** Arrays that belong to whoever gets them. */
export const fresh: Take = (_, size) => new Float32Array(size);

/** Of any content. */
export function take(floats: Floats, name: string, size: number): Float32Array {
  const kept = floats.get(name);
  if (kept && kept.length >= size) return kept.subarray(0, size);
  const array = new Float32Array(size);
  floats.set(name, array);
  return array;
}

export function pack(
  rows: readonly Row[],
  reads: Required<OnExperiencesOptions>,
  floats: Floats,
): AdvantageInput {
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, { start, end }] of rows.entries()) offsets[i + 1] = offsets[i]! + end - start;
  const size = offsets.at(-1)!;
  const tasks = new Map(
    [...groupBy(rows, ({ experience }) => taskKey(experience.eid)).keys()].map((key, index) => [
      key,
      index,
    ]),
  );
  const input = {
    offsets,
    actionMask: new Uint8Array(size),
    rewards: take(floats, 'rewards', size).fill(0),
    tasks: Int32Array.from(rows, ({ experience }) => tasks.get(taskKey(experience.eid))!),
    oldLogprobs: reads.logprobs ? take(floats, 'oldLogprobs', size) : new Float32Array(size),
    ...(rows.every(({ experience }) => typeof baselineOf(experience) === 'number') && {
      rewardBaselines: Float32Array.from(
        rows,
        ({ experience }) => baselineOf(experience) as number,
      ),
    }),
    ...(reads.logprobs &&
      rows.every(({ experience }) => experience.teacherLogprobs) && {
        teacherLogprobs: take(floats, 'teacherLogprobs', size),
      }),
  };
  for (const [i, { experience, start, end, reward }] of rows.entries()) {
    const at = offsets[i]!;
    input.actionMask.set(experience.actionMask.subarray(start, end), at);
    if (reads.logprobs) input.oldLogprobs.set(experience.logprobs.subarray(start, end), at);
    input.teacherLogprobs?.set(experience.teacherLogprobs!.subarray(start, end), at);
    if (!reads.rewards) continue;
    if (experience.tokenRewards)
      input.rewards.set(experience.tokenRewards.subarray(start, end), at);
    else
      input.rewards[offsets[i + 1]! - 1] = rewardOf(
        reward === experience.reward ? experience : withReward(experience, reward),
      );
  }
  return input;
}

const baselineOf = ({ info }: Experience): unknown => info['reward_baseline'];

function withReward(experience: Experience, reward: number | undefined): Experience {
  const { reward: _, ...rest } = experience;
  return reward === undefined ? rest : { ...rest, reward };
}
