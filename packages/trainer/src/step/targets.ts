/**
 * What a batch is trained towards: advantages and returns, stored with the experiences or computed
 * here.
 */
import {
  InvariantError,
  prefixMetrics,
  taskKey,
  type AdvantageInput,
  type AdvantageOutput,
  type Algorithm,
  type Metrics,
} from '@trinity-rft/core';
import { assertFinite } from './finite.js';
import type { PackedBatch } from './pack.js';
import type { Scores } from './scores.js';

/** What a train step hands to the next one, besides weights. Plain JSON. */
export interface TrainerState {
  /** Of the penalty in rewards, where one steers its coefficient. */
  readonly klCoefficient?: number;
}

export interface Targets {
  /** Tokens that are trained. [N] */
  readonly actionMask: Uint8Array;
  /** [N] */
  readonly advantages: Float32Array;
  /** Of batches whose advantages were computed here. [N] */
  readonly returns?: Float32Array;
  /** Before the penalty, per token; of batches whose advantages were computed here. [N] */
  readonly scores?: Float32Array;
  /** After it. [N] */
  readonly rewards?: Float32Array;
  readonly state: TrainerState;
  readonly metrics: Metrics;
}

/**
 * Penalty, then advantages; or what the experiences bring.
 * @throws EngineError naming the experience of a number that is not finite
 */
export function targetsOf(
  batch: PackedBatch,
  scores: Scores,
  { batchAdvantage, klPenalty }: Pick<Algorithm, 'batchAdvantage' | 'klPenalty'>,
  state: TrainerState,
): Targets {
  const { actionMask, advantages } = batch.static;
  if (!batchAdvantage) return { actionMask, advantages, state, metrics: {} };
  const input = advantageInput(batch, scores);
  const penalty = klPenalty?.apply(input, state.klCoefficient ?? klPenalty.initialCoefficient);
  if (penalty) assertCoefficient(penalty.nextCoefficient);
  const rewards = penalty?.rewards ?? input.rewards;
  assertFinite(batch, 'The reward after the KL penalty', rewards);
  const computed = batchAdvantage({ ...input, rewards });
  assertFinite(batch, 'The advantage', computed.advantages, {
    mask: actionMask,
    cure: 'Look at its reward and values',
  });
  assertFinite(batch, 'The return', computed.returns, {
    mask: actionMask,
    cure: 'Look at its reward and values',
  });
  return {
    actionMask: keptMask(batch, computed),
    advantages: computed.advantages,
    returns: computed.returns,
    scores: input.rewards,
    rewards,
    state: penalty ? { klCoefficient: penalty.nextCoefficient } : state,
    metrics: prefixMetrics('critic', { ...penalty?.metrics, ...computed.metrics }),
  };
}

/** Rows of experts are masked: nothing is estimated from demonstrations. */
function advantageInput(
  batch: PackedBatch,
  { entropy, necs, refLogprobs, critic }: Scores,
): AdvantageInput {
  const { offsets, oldLogprobs } = batch.static;
  const teacher = batch.calls.some(({ experience }) => experience.teacherLogprobs);
  const rewardBaselines = baselinesOf(batch);
  return {
    offsets,
    actionMask: batch.sampledMask,
    oldLogprobs,
    rewards: rewardsOf(batch),
    tasks: tasksOf(batch),
    ...(critic && { values: bridged(critic.values, batch) }),
    ...(refLogprobs && { refLogprobs }),
    ...(teacher && { teacherLogprobs: batch.column((experience) => experience.teacherLogprobs) }),
    ...(entropy && { entropy }),
    ...(necs && { necs }),
    ...(rewardBaselines && { rewardBaselines }),
  };
}

/**
 * A critic never learns what the states of masked tokens are worth. Each takes the value of the
 * next state that is trained, 0 after the last: what the policy will get from there, so that
 * nothing is gained or lost on the way. [N]
 */
function bridged(
  values: Float32Array,
  { sampledMask, static: { offsets } }: PackedBatch,
): Float32Array {
  const out = values.slice();
  for (let row = 0; row + 1 < offsets.length; row++) {
    let next = 0;
    for (let i = offsets[row + 1]! - 1; i >= offsets[row]!; i--) {
      if (sampledMask[i]) next = values[i]!;
      else out[i] = next;
    }
  }
  return out;
}

/** `info.reward_baseline` of each row, where every sampled one has it. [B] */
function baselinesOf({ calls, expertMask }: PackedBatch): Float32Array | undefined {
  const baselines = calls.map(({ experience }, row) =>
    expertMask[row] ? 0 : experience.info['reward_baseline'],
  );
  return baselines.every((value) => typeof value === 'number')
    ? Float32Array.from(baselines)
    : undefined;
}

/** The reward of a call sits on its last token; rewards per token win. [N] */
function rewardsOf(batch: PackedBatch): Float32Array {
  const { calls } = batch;
  const { offsets } = batch.static;
  const rewards = batch.column((experience) => experience.tokenRewards);
  calls.forEach(({ experience, span }, row) => {
    const last = offsets[row + 1]! - 1;
    if (!experience.tokenRewards && last >= offsets[row]!) rewards[last] = span.reward ?? 0;
  });
  return rewards;
}

/** Numbers in order of first appearance. [B] */
function tasksOf({ calls }: PackedBatch): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(calls, ({ experience }) => {
    const key = taskKey(experience.eid);
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key)!;
  });
}

/** What the function kept of the samples, and demonstrations as they were. */
function keptMask(
  { static: { actionMask }, sampledMask }: PackedBatch,
  { actionMask: kept }: AdvantageOutput,
): Uint8Array {
  if (!kept) return actionMask;
  const added =
    kept.length === sampledMask.length ? kept.findIndex((bit, i) => bit > sampledMask[i]!) : 0;
  if (added >= 0)
    throw new InvariantError(
      `The advantage function returned an action mask of ${kept.length} entries that trains token ${added} of the batch; expected ${sampledMask.length} entries that only take tokens out.`,
      { code: 'MASK_GREW' },
    );
  return actionMask.map((bit, i) => (sampledMask[i] ? kept[i]! : bit));
}

function assertCoefficient(coefficient: number): void {
  if (Number.isFinite(coefficient)) return;
  throw new InvariantError(
    `The KL penalty asks for the coefficient ${coefficient}; expected a finite number.`,
    {
      code: 'PENALTY_NOT_FINITE',
    },
  );
}
