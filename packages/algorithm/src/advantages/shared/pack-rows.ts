/** Packs the model calls of experiences into token arrays. */
import { runKey, type Experience, spansOf, taskKey } from '@trinity-rft/core';
import { numberKeys, type AdvantageInput } from '@trinity-rft/core/internal';
import { rewardOf } from './groups.js';

/** A model call: a whole experience, or one of its spans. */
export interface Row {
  readonly experience: Experience;
  /** Range of response tokens, [start, end). */
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly reward: number | undefined;
}

/** Converts an experience to rows, one for each of its calls. */
export function rowsOf(experience: Experience): readonly Row[] {
  const spans = spansOf(experience);
  return spans.map(({ start, end, step, reward }, i) => ({
    experience,
    start,
    end,
    step,
    reward: reward ?? (i === spans.length - 1 ? experience.reward : undefined),
  }));
}

/**
 * Selects the columns to fill. The other columns are 0 if they are required, and absent if they are
 * optional.
 */
export interface PackOptions {
  readonly rewards: boolean;
  readonly logprobs: boolean;
}

/**
 * Packs rows into token arrays, and fills the columns that `reads` selects.
 * @throws RewardError for a call without a finite reward, if rewards are selected
 */
export function pack(rows: readonly Row[], reads: PackOptions): AdvantageInput {
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, { start, end }] of rows.entries()) offsets[i + 1] = offsets[i]! + end - start;
  const size = offsets.at(-1)!;
  const experiences = rows.map(({ experience }) => experience);
  const eids = experiences.map(({ eid }) => eid);
  const baselines = experiences.map(({ info }) => info['reward_baseline']);
  const hasTeacher = reads.logprobs && experiences.every((each) => each.teacherLogprobs);
  const input = {
    offsets,
    actionMask: new Uint8Array(size),
    rewards: new Float32Array(size),
    tasks: numberKeys(eids, taskKey),
    runs: numberKeys(eids, runKey),
    steps: Int32Array.from(rows, ({ step }) => step),
    runRewards: reads.rewards ? Float32Array.from(rows, runRewardOf) : undefined,
    oldLogprobs: new Float32Array(size),
    rewardBaselines: baselines.every(isNumber) ? Float32Array.from(baselines) : undefined,
    teacherLogprobs: hasTeacher ? new Float32Array(size) : undefined,
  };
  for (const [i, row] of rows.entries()) {
    const { experience, start, end } = row;
    const at = offsets[i]!;
    input.actionMask.set(experience.actionMask.subarray(start, end), at);
    if (reads.logprobs) input.oldLogprobs.set(experience.logprobs.subarray(start, end), at);
    input.teacherLogprobs?.set(experience.teacherLogprobs!.subarray(start, end), at);
    if (reads.rewards) input.rewards.set(tokenRewards(row), at);
  }
  return input;
}

/** Returns the token rewards of a row. A single reward is assigned to the row's last token. */
function tokenRewards({ experience, start, end, reward }: Row): Float32Array {
  if (experience.tokenRewards) return experience.tokenRewards.subarray(start, end);
  const rewards = new Float32Array(end - start);
  rewards[rewards.length - 1] = rewardOf(
    reward === experience.reward ? experience : withReward(experience, reward),
  );
  return rewards;
}

/**
 * Returns the single reward of a row, or 0 if the row has no reward or has token rewards instead of
 * one.
 */
const runRewardOf = ({ experience, reward }: Row): number =>
  experience.tokenRewards ? 0 : (reward ?? 0);

const isNumber = (value: unknown): value is number => typeof value === 'number';

function withReward(experience: Experience, reward: number | undefined): Experience {
  const { reward: _, ...rest } = experience;
  return reward === undefined ? rest : { ...rest, reward };
}
