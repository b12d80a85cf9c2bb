/**
 * Determines the targets of a batch, which are advantages and returns. The trainer computes the
 * targets, or uses advantages that are stored with the experiences.
 */
import { runKey, type Metrics, InvariantError, responseLength, taskKey } from '@trinity-rft/core';
import {
  numberKeys,
  prefixMetrics,
  type AdvantageInput,
  type AdvantageOutput,
  type Algorithm,
} from '@trinity-rft/core/internal';
import { assertFinite } from './assert-finite.js';
import type { ModelOutputs } from './forward.js';
import type { PackedBatch } from './pack.js';
import { sampledRows, type SampledRows } from './sampled-rows.js';

/** State that one train step passes to the next, in addition to weights, as plain JSON. */
export interface TrainerState {
  /** Current coefficient of an adaptive KL penalty; undefined without such a penalty. */
  readonly klCoefficient?: number;
}

export interface Targets {
  /** 1 for tokens that are trained on. [N] */
  readonly actionMask: Uint8Array;
  /** Advantage of each token. [N] */
  readonly advantages: Float32Array;
  /** Targets of the critic; present if the trainer computed the advantages. [N] */
  readonly returns?: Float32Array;
  /** Token rewards before the KL penalty; present if the trainer computed the advantages. [N] */
  readonly scores?: Float32Array;
  /** Token rewards after the KL penalty. [N] */
  readonly rewards?: Float32Array;
  readonly state: TrainerState;
  readonly metrics: Metrics;
}

/** Model outputs for computing targets, without the log-probabilities of the policy. */
type TargetOutputs = Pick<ModelOutputs, 'entropy' | 'necs' | 'refLogprobs' | 'critic'>;

/**
 * Applies the KL penalty and computes the advantages. If the algorithm does not compute advantages
 * in the trainer, uses those stored with the experiences. Demonstrations are not rollouts, so they
 * are excluded from this computation, and their advantages, returns and rewards are 0.
 * @throws EngineError naming the experience with a number that is not finite
 */
export function targetsOf(
  batch: PackedBatch,
  outputs: TargetOutputs,
  { batchAdvantage, klPenalty }: Pick<Algorithm, 'batchAdvantage' | 'klPenalty'>,
  state: TrainerState,
): Targets {
  const { actionMask, advantages } = batch.static;
  if (!batchAdvantage) return { actionMask, advantages, state, metrics: {} };
  const sampled = sampledRows(batch);
  const own = sampled.batch;
  const input = advantageInput(sampled, outputs);
  const stored = klPenalty?.adaptive ? state.klCoefficient : undefined;
  const penalty = klPenalty?.apply(input, stored ?? klPenalty.initialCoefficient);
  if (penalty) assertCoefficient(penalty.nextCoefficient);
  const rewards = penalty?.rewards ?? input.rewards;
  assertFinite(own, 'The reward after the KL penalty', rewards);
  const computed = batchAdvantage({ ...input, rewards });
  const checks = { mask: own.static.actionMask, fix: 'Look at its reward and values' };
  assertFinite(own, 'The advantage', computed.advantages, checks);
  assertFinite(own, 'The return', computed.returns, checks);
  const spread = (values: Float32Array): Float32Array =>
    sampled.scatter(values, new Float32Array(actionMask.length));
  return {
    actionMask: sampled.scatter(keptMask(own, computed), actionMask),
    advantages: spread(computed.advantages),
    returns: spread(computed.returns),
    scores: spread(input.rewards),
    rewards: spread(rewards),
    state: penalty && klPenalty?.adaptive ? { klCoefficient: penalty.nextCoefficient } : {},
    metrics: prefixMetrics('critic', { ...penalty?.metrics, ...computed.metrics }),
  };
}

/**
 * Returns the advantages that the trainer computed, as one array per experience of the batch.
 * Tokens that were not trained on have NaN. Returns undefined if the advantages were stored with
 * the experiences.
 */
export function usedAdvantages(
  batch: PackedBatch,
  { advantages, actionMask, returns }: Targets,
): readonly Float32Array[] | undefined {
  if (!returns) return undefined;
  const own = new Map(
    batch.experiences.map((experience) => [
      experience,
      new Float32Array(responseLength(experience)).fill(Number.NaN),
    ]),
  );
  for (const { experience, span, start, end } of batch.calls) {
    const used = own.get(experience)?.subarray(span.start, span.end);
    used?.set(advantages.subarray(start, end));
    used?.forEach((_, i) => {
      if (actionMask[start + i] !== 1) used[i] = Number.NaN;
    });
  }
  return [...own.values()];
}

/** Creates the input of the advantage function from the model outputs for the whole batch. */
function advantageInput(
  { batch, gather }: SampledRows,
  { entropy, necs, refLogprobs, critic }: TargetOutputs,
): AdvantageInput {
  const { offsets, actionMask, oldLogprobs } = batch.static;
  const eids = batch.calls.map(({ experience }) => experience.eid);
  const hasTeacher = batch.calls.some(({ experience }) => experience.teacherLogprobs);
  return {
    offsets,
    actionMask,
    oldLogprobs,
    rewards: rewardsOf(batch),
    tasks: numberKeys(eids, taskKey),
    runs: numberKeys(eids, runKey),
    steps: Int32Array.from(batch.calls, ({ span }) => span.step),
    runRewards: Float32Array.from(batch.calls, ({ experience, span }) =>
      experience.tokenRewards ? 0 : (span.reward ?? 0),
    ),
    values: critic && bridgeMasked(gather(critic.values), batch),
    refLogprobs: refLogprobs && gather(refLogprobs),
    teacherLogprobs: hasTeacher
      ? batch.column((experience) => experience.teacherLogprobs)
      : undefined,
    entropy: entropy && gather(entropy),
    necs: necs && gather(necs),
    rewardBaselines: baselinesOf(batch),
  };
}

/**
 * Replaces the values of masked tokens, because the critic is not trained on them. Each masked
 * token gets the value of the next trained token of its call, or 0 after the last one. This is the
 * reward expected from there on, so masked tokens have no effect on advantages. [N]
 */
function bridgeMasked(
  values: Float32Array,
  { static: { actionMask }, calls }: PackedBatch,
): Float32Array {
  const out = values.slice();
  for (const { start, end } of calls) {
    let next = 0;
    for (let i = end - 1; i >= start; i--) {
      if (actionMask[i]) next = values[i]!;
      else out[i] = next;
    }
  }
  return out;
}

/** Returns `info.reward_baseline` of each row, or undefined unless every row has a baseline. [B] */
function baselinesOf({ calls }: PackedBatch): Float32Array | undefined {
  const baselines = calls.map(({ experience }) => experience.info['reward_baseline']);
  return baselines.every((value) => typeof value === 'number')
    ? Float32Array.from(baselines)
    : undefined;
}

/**
 * Returns the reward of each token. If an experience has only rewards of calls, the last token of
 * each call has the call's reward, and the other tokens have 0. [N]
 */
function rewardsOf(batch: PackedBatch): Float32Array {
  const rewards = batch.column((experience) => experience.tokenRewards);
  for (const { experience, span, start, end } of batch.calls)
    if (!experience.tokenRewards && end > start) rewards[end - 1] = span.reward ?? 0;
  return rewards;
}

/** Returns the mask of the tokens that the advantage function keeps for training. */
function keptMask(
  { static: { actionMask } }: PackedBatch,
  { actionMask: kept = actionMask }: AdvantageOutput,
): Uint8Array {
  const added = kept.findIndex((bit, i) => bit > 0 && !actionMask[i]);
  if (kept.length === actionMask.length && added < 0) return kept;
  throw new InvariantError(
    `The advantage function returned an action mask of ${kept.length} entries that trains token ${Math.max(0, added)} of the batch; expected ${actionMask.length} entries that only take tokens out.`,
    { code: 'MASK_GREW' },
  );
}

function assertCoefficient(coefficient: number): void {
  if (Number.isFinite(coefficient)) return;
  throw new InvariantError(
    `The KL penalty asks for the coefficient ${coefficient}; expected a finite number.`,
    { code: 'PENALTY_NOT_FINITE' },
  );
}
