/** Creates the half of the engine that trains. */
import { type Metrics, EngineError } from '@trinity-rft/core';
import type {
  TrainEngine,
  ExpectedLoss,
  ForwardOptions,
  ForwardPass,
  OptimizerOptions,
  StepStats,
  TokenBatch,
  TokenGradients,
  TokenRow,
} from '@trinity-rft/core/engine';
import type { AdamParams, RemoteModel } from '../remote/model.js';
import { canCompute, expectedGradient, expectedPass, type LossTraits } from './expected.js';
import { gatherGradients, gradientPass, type GradientSum } from './gradients.js';
import { gradNormOf } from './gradient-norm.js';
import { runPass, scoreData } from './passes.js';
import { checkRows, datumOf, offsetsOf, type RowLimits } from './rows.js';

/** The model in training and its step counter. Loading a checkpoint replaces `model`. */
export interface Trained {
  model: RemoteModel;
  /** Number of optimizer steps so far. */
  step: number;
}

/** Methods of the training half that save, load and discard checkpoints. */
export type CheckpointCalls = Required<Pick<TrainEngine, 'save' | 'load' | 'discard'>>;

export interface TrainerOptions extends CheckpointCalls {
  readonly trained: Trained;
  readonly limits: RowLimits;
  readonly traits: LossTraits;
  /** Untrained adapter that serves as the reference model; undefined if none was requested. */
  readonly reference: RemoteModel | undefined;
  readonly publish: () => Promise<void>;
  readonly counts: () => Metrics;
}

export function createTrainer(options: TrainerOptions): TrainEngine {
  const { trained, traits } = options;
  const { normalisation } = traits;
  const gradients = gatherGradients(normalisation);
  return {
    forward: (batch, forwardOptions = {}) => forward(options, batch, forwardOptions),
    forwardBackward: (batch, expected) =>
      canCompute(expected, traits) && expected.advantages.some((A) => A !== 0)
        ? forwardBackward(options, gradients, { batch, expected })
        : forward(options, batch, {}),
    backward: (pass, { logprobs, entropy }: TokenGradients) =>
      Promise.resolve().then(() => {
        if (entropy?.some((value) => value !== 0)) throw noEntropy();
        gradients.add(pass, logprobs);
      }),
    step: async (stepOptions) => {
      const gathered = gradients.take();
      const { model } = trained;
      // Sends both requests before awaiting either, because the server processes them together.
      const [, metrics] = await Promise.all([
        runPass(model, gradientPass(gathered, normalisation), false),
        model.step(adamOf(stepOptions)),
      ]);
      trained.step++;
      return statsOf(trained.step, metrics, gathered.rows.size);
    },
    publish: () => options.publish(),
    save: options.save,
    load: async (directory) => {
      await options.load(directory);
      gradients.take();
    },
    discard: options.discard,
    stats: () => Promise.resolve(options.counts()),
  };
}

async function forward(
  { trained, limits, reference }: TrainerOptions,
  batch: TokenBatch,
  { weights = 'current', entropy = false, necs = false }: ForwardOptions,
): Promise<ForwardPass> {
  if (entropy || necs) throw noEntropy();
  const { rows } = batch;
  checkRows(rows, limits);
  const model = weights === 'current' ? trained.model : (reference ?? noReference());
  return passOf(batch, await scoreResponses(model, rows));
}

/**
 * Computes the expected loss on the server, which thereby accumulates the gradients of this loss.
 */
async function forwardBackward(
  { trained, limits, traits: { normalisation } }: TrainerOptions,
  gradients: GradientSum,
  { batch, expected }: { readonly batch: TokenBatch; readonly expected: ExpectedLoss },
): Promise<ForwardPass> {
  const { rows } = batch;
  checkRows(rows, limits);
  const scored = await runPass(trained.model, expectedPass(rows, expected, normalisation), false);
  const pass = passOf(batch, responsesOf(rows, scored));
  gradients.sent(pass, expectedGradient(expected, pass.logprobs));
  return pass;
}

function passOf(batch: TokenBatch, scored: readonly Float32Array[]): ForwardPass {
  const offsets = offsetsOf(batch.rows);
  const logprobs = new Float32Array(offsets.at(-1) ?? 0);
  for (const [i, values] of scored.entries()) logprobs.set(values, offsets[i]);
  return { batch, offsets, logprobs };
}

const scoreResponses = async (
  model: RemoteModel,
  rows: readonly TokenRow[],
): Promise<readonly Float32Array[]> =>
  responsesOf(
    rows,
    await scoreData(
      model,
      rows.map((row) => datumOf(row, {})),
    ),
  );

/**
 * Returns only the log-probabilities of response tokens, given those of all targets of each row.
 */
const responsesOf = (
  rows: readonly TokenRow[],
  scored: readonly Float32Array[],
): readonly Float32Array[] =>
  rows.map(({ promptLength }, i) => scored[i]?.subarray(promptLength - 1) ?? new Float32Array());

function noReference(): never {
  throw new EngineError('The engine was opened without a reference.', {
    code: 'ENGINE_NO_REFERENCE',
  });
}

const noEntropy = (): EngineError =>
  new EngineError(
    'A Tinker server computes no entropies and none of their gradients. Set entropy_loss_fn: none.',
    { code: 'TINKER_UNSUPPORTED' },
  );

export function adamOf({
  learningRate,
  betas: [beta1, beta2] = [0.9, 0.999],
  epsilon = 1e-8,
  weightDecay = 0.01,
  clipGradNorm = 1,
}: OptimizerOptions): AdamParams {
  return {
    learning_rate: learningRate,
    beta1,
    beta2,
    eps: epsilon,
    weight_decay: weightDecay,
    grad_clip_norm: clipGradNorm,
  };
}

/**
 * Returns the statistics of an optimizer step. If the server reports no gradient norm, it is NaN,
 * or 0 for a step without rows.
 */
function statsOf(step: number, metrics: Metrics, rows: number): StepStats {
  const gradNorm = gradNormOf(metrics) ?? (rows === 0 ? 0 : Number.NaN);
  return { step, gradNorm, skipped: false };
}
