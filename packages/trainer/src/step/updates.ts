/** Computes backward passes and makes optimizer steps of the policy and the critic. */
import { CancelledError, EngineError, type LossOutput, type Metrics } from '@trinity-rft/core';
import type {
  TrainEngine,
  ValueEngine,
  OptimizerOptions,
  StepStats,
} from '@trinity-rft/core/engine';
import { prefixMetrics, type ValueLossFn } from '@trinity-rft/core/internal';
import type { ModelOutputs } from './forward.js';
import type { PackedBatch } from './pack.js';
import type { Stopwatch } from './stopwatch.js';

interface UpdateOptions<Loss> {
  readonly batch: PackedBatch;
  readonly outputs: ModelOutputs;
  readonly loss: Loss;
  readonly optimizer: OptimizerOptions;
  readonly time: Stopwatch;
}

/** Updates the policy with one optimizer step. */
export async function updateActor(
  engine: TrainEngine,
  { batch, outputs, loss, optimizer, time }: UpdateOptions<LossOutput>,
): Promise<Metrics> {
  const gradients = {
    logprobs: batch.toEngine(loss.gradLogprobs),
    entropy: loss.gradEntropy && batch.toEngine(loss.gradEntropy),
  };
  await time('backward', engine.backward(outputs.pass, gradients));
  const stats = await time('optimizer', whole(engine.step(optimizer)));
  return prefixMetrics('actor', updateMetrics(stats, optimizer));
}

/** Updates the critic with one optimizer step. */
export async function updateCritic(
  engine: ValueEngine,
  { batch, outputs, loss, optimizer, time }: UpdateOptions<ReturnType<ValueLossFn>>,
): Promise<Metrics> {
  if (!outputs.critic) return {};
  const gradients = batch.toEngine(loss.gradValues);
  await time('critic_backward', engine.backward(outputs.critic.pass, gradients));
  const stats = await time('critic_optimizer', whole(engine.step(optimizer)));
  return prefixMetrics('critic', updateMetrics(stats, optimizer));
}

/**
 * Awaits an update of weights, or work that follows one. Converts a CancelledError to an
 * EngineError, because the weights may already have changed and must then not be saved as those of
 * the previous step.
 */
export async function whole<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof CancelledError)) throw error;
    throw new EngineError(
      'The train step was cut off after its update of the weights had begun, so nothing is saved; a new start of the run repeats the step from the last checkpoint.',
      { code: 'UPDATE_CUT_OFF', cause: error },
    );
  }
}

function updateMetrics(
  { gradNorm, skipped }: StepStats,
  { learningRate }: OptimizerOptions,
): Metrics {
  return {
    grad_norm: Number.isFinite(gradNorm) ? gradNorm : -1,
    lr: learningRate,
    update_skipped: skipped ? 1 : 0,
  };
}
