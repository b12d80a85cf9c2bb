/** Runs a function over packed token arrays on experiences. */
import {
  groupBy,
  responseLength,
  spansOf,
  taskKey,
  withFields,
  type AdvantageFn,
  type AdvantageInput,
  type AdvantageOutput,
  type BatchAdvantageFn,
  type Experience,
} from '@trinity-rft/core';
import { rewardOf } from './groups.js';

export interface OnExperiencesOptions {
  /** Whether the function reads rewards: then every call needs one, or token rewards. @default true */
  readonly rewards?: boolean;
}

/**
 * Each model call becomes a row: an experience, or each span of one that holds several. Its reward lies on its last response token,
 * trained or not, unless it has token rewards. Tasks are those of `eid`; what lies between the calls of an experience gets 0. A mask
 * that the function changes replaces that of the experience. What `compute` is given is written over by the next call.
 * @throws RewardError for a call without a finite reward
 */
export function onExperiences(compute: BatchAdvantageFn, { rewards = true }: OnExperiencesOptions = {}): AdvantageFn {
  const floats: Floats = new Map();
  return (experiences) => {
    if (experiences.length === 0) return { experiences, metrics: {} };
    const rows = experiences.map(rowsOf);
    const input = pack(rows.flat(), rewards, floats);
    const output = compute(input);
    let row = 0;
    const out = rows.map((own, i) => {
      const first = row;
      row += own.length;
      return withOutput(experiences[i]!, own, input.offsets.subarray(first, row + 1), output);
    });
    return { experiences: out, metrics: output.metrics };
  };
}

/** Copies what was computed for its rows back to where they lie in the response; between them is 0. */
function withOutput(experience: Experience, rows: readonly Row[], offsets: Int32Array, output: AdvantageOutput): Experience {
  const size = responseLength(experience);
  const gather = <A extends Float32Array | Uint8Array>(from: A, empty: (size: number) => A): A => {
    if (rows[0]?.start === 0 && rows[0].end === size) return from.slice(offsets[0], offsets[1]) as A;
    const target = empty(size);
    for (const [i, row] of rows.entries()) target.set(from.subarray(offsets[i], offsets[i + 1]), row.start);
    return target;
  };
  const { advantages, returns, actionMask } = output;
  return withFields(experience, {
    advantages: gather(advantages, (length) => new Float32Array(length)),
    returns: gather(returns, (length) => new Float32Array(length)),
    ...(actionMask && { actionMask: gather(actionMask, (length) => new Uint8Array(length)) }),
  });
}

interface Row {
  readonly experience: Experience;
  /** Response tokens [start, end). */
  readonly start: number;
  readonly end: number;
  readonly reward: number | undefined;
}

function rowsOf(experience: Experience): readonly Row[] {
  const spans = spansOf(experience);
  return spans.map(({ start, end, reward }, i) => ({
    experience,
    start,
    end,
    reward: reward ?? (i === spans.length - 1 ? experience.reward : undefined),
  }));
}

/**
 * Arrays that calls are packed into, kept from one explore step to the next: the pages of fresh ones take longer than what is computed
 * from them. Results are copied into arrays of each experience, so nobody else sees these.
 */
type Floats = Map<string, Float32Array>;

/** All 0. */
function take(floats: Floats, name: string, size: number): Float32Array {
  const kept = floats.get(name);
  if (kept && kept.length >= size) return kept.subarray(0, size).fill(0);
  const array = new Float32Array(size);
  floats.set(name, array);
  return array;
}

function pack(rows: readonly Row[], withRewards: boolean, floats: Floats): AdvantageInput {
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, { start, end }] of rows.entries()) offsets[i + 1] = offsets[i]! + end - start;
  const size = offsets.at(-1)!;
  const tasks = new Map([...groupBy(rows, ({ experience }) => taskKey(experience.eid)).keys()].map((key, index) => [key, index]));
  const input = {
    offsets,
    actionMask: new Uint8Array(size),
    rewards: take(floats, 'rewards', size),
    tasks: Int32Array.from(rows, ({ experience }) => tasks.get(taskKey(experience.eid))!),
    oldLogprobs: take(floats, 'oldLogprobs', size),
    ...(rows.every(({ experience }) => typeof baselineOf(experience) === 'number') && {
      rewardBaselines: Float32Array.from(rows, ({ experience }) => baselineOf(experience) as number),
    }),
    ...(rows.every(({ experience }) => experience.teacherLogprobs) && { teacherLogprobs: take(floats, 'teacherLogprobs', size) }),
  };
  for (const [i, { experience, start, end, reward }] of rows.entries()) {
    const at = offsets[i]!;
    input.actionMask.set(experience.actionMask.subarray(start, end), at);
    input.oldLogprobs.set(experience.logprobs.subarray(start, end), at);
    input.teacherLogprobs?.set(experience.teacherLogprobs!.subarray(start, end), at);
    if (!withRewards) continue;
    if (experience.tokenRewards) input.rewards.set(experience.tokenRewards.subarray(start, end), at);
    else input.rewards[offsets[i + 1]! - 1] = rewardOf(reward === experience.reward ? experience : withReward(experience, reward));
  }
  return input;
}

const baselineOf = ({ info }: Experience): unknown => info['reward_baseline'];

function withReward(experience: Experience, reward: number | undefined): Experience {
  const { reward: _, ...rest } = experience;
  return reward === undefined ? rest : { ...rest, reward };
}
