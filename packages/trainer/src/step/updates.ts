/** Gradients of one batch, and the updates made from them. */
import {
  InvariantError,
  prefixMetrics,
  type AlgorithmNeeds,
  type LossOutput,
  type Metrics,
  type OptimizerOptions,
  type PolicyLossFn,
  type StepStats,
  type TrainEngine,
  type ValueEngine,
  type ValueLossFn,
} from '@trinity-rft/core';
import { assertFinite, assertFiniteLoss } from './finite.js';
import type { PackedBatch } from './pack.js';
import type { Scores } from './scores.js';
import type { Stopwatch } from './stopwatch.js';
import type { Targets } from './targets.js';

const cure = 'Look at its reward, advantage and log-probabilities';
const code = 'GRADIENT_NOT_FINITE';

/**
 * Loss of the policy and its gradient, checked.
 * @throws EngineError naming the first experience whose gradient is not finite
 */
export function policyLoss(
  batch: PackedBatch,
  scores: Scores,
  targets: Targets,
  options: { readonly loss: PolicyLossFn; readonly needs: AlgorithmNeeds; readonly step: number },
): LossOutput {
  const { offsets, oldLogprobs } = batch.static;
  const { currentLogprobs, entropy, refLogprobs } = scores;
  const output = options.loss({
    offsets,
    actionMask: targets.actionMask,
    currentLogprobs,
    oldLogprobs,
    advantages: targets.advantages,
    ...(options.needs.expertMask && { expertMask: batch.expertMask }),
    step: options.step,
    ...(refLogprobs && { refLogprobs }),
    ...(entropy && { entropy }),
  });
  assertFinite(batch, 'The loss gradient', output.gradLogprobs, { cure, code });
  if (output.gradEntropy)
    assertFinite(batch, 'The loss gradient by entropy', output.gradEntropy, { cure, code });
  assertFiniteLoss('The loss', output.loss);
  return output;
}

/**
 * Loss of the critic and its gradient, checked. One update is made per batch, so the values being
 * trained are those that the advantages were computed from: nothing is clipped yet.
 */
export function criticLoss(
  batch: PackedBatch,
  scores: Scores,
  targets: Targets,
  loss: ValueLossFn,
): ReturnType<ValueLossFn> {
  const { values } = scores.critic ?? {};
  const { returns } = targets;
  if (!values || !returns)
    throw new InvariantError(
      'A critic was given, but the algorithm computes no returns for it to learn. Leave the critic out.',
      {
        code: 'CRITIC_UNUSED',
      },
    );
  const actionMask = targets.actionMask.map((bit, i) => bit & batch.sampledMask[i]!);
  const output = loss({
    offsets: batch.static.offsets,
    actionMask,
    values,
    oldValues: values,
    returns,
  });
  assertFinite(batch, 'The gradient of the value', output.gradValues, {
    cure: 'Look at its reward and values',
    code,
  });
  assertFiniteLoss('The loss of the critic', output.loss);
  return output;
}

/** One optimizer step of the policy. */
export async function updateActor(
  engine: TrainEngine,
  work: {
    readonly batch: PackedBatch;
    readonly scores: Scores;
    readonly loss: LossOutput;
    readonly optimizer: OptimizerOptions;
    readonly time: Stopwatch;
  },
): Promise<Metrics> {
  const { batch, scores, loss, optimizer, time } = work;
  const gradients = {
    logprobs: batch.toEngine(loss.gradLogprobs),
    ...(loss.gradEntropy && { entropy: batch.toEngine(loss.gradEntropy) }),
  };
  await time('backward', engine.backward(scores.pass, gradients));
  return updateMetrics('actor', await time('optimizer', engine.step(optimizer)), optimizer);
}

/** One optimizer step of the critic. */
export async function updateCritic(
  engine: ValueEngine,
  work: {
    readonly batch: PackedBatch;
    readonly scores: Scores;
    readonly loss: ReturnType<ValueLossFn>;
    readonly optimizer: OptimizerOptions;
    readonly time: Stopwatch;
  },
): Promise<Metrics> {
  const { batch, scores, loss, optimizer, time } = work;
  await time(
    'critic_backward',
    engine.backward(scores.critic!.pass, batch.toEngine(loss.gradValues)),
  );
  return updateMetrics('critic', await time('critic_optimizer', engine.step(optimizer)), optimizer);
}

function updateMetrics(
  name: 'actor' | 'critic',
  { gradNorm, skipped }: StepStats,
  { learningRate }: OptimizerOptions,
): Metrics {
  return prefixMetrics(name, {
    grad_norm: Number.isFinite(gradNorm) ? gradNorm : -1,
    lr: learningRate,
    update_skipped: skipped ? 1 : 0,
  });
}
