/**
 * Behaviour of the server with losses and saved weights, measured with an adapter that is thrown
 * away: programs that speak the protocol differ, and none says how.
 */
import { EngineError } from '@trinity-rft/core';
import {
  createModel,
  type AdamParams,
  type ModelContext,
  type ModelOptions,
  type RemoteModel,
} from './remote/model.js';
import { holdSampling } from './sample/handle.js';
import { scoreRow } from './sample/sampler.js';
import type { SamplingWeights } from './sample/weights.js';
import type { Normalisation } from './train/gradients.js';
import { probeLosses } from './probe-losses.js';
import type { LossTraits } from './train/expected.js';
import { gradNormOf, ignoresClipping } from './train/gradient-norm.js';
import { runPass, scoreData } from './train/passes.js';
import { datumOf, type RowLimits } from './train/rows.js';

export interface ServerTraits extends LossTraits {
  readonly sampling: SamplingWeights;
  /** It scales gradients down to `grad_clip_norm`. */
  readonly clips: boolean;
}

export interface ProbeOptions {
  readonly context: ModelContext;
  readonly model: ModelOptions;
  readonly limits: RowLimits;
}

export async function probeServer(options: ProbeOptions): Promise<ServerTraits> {
  const { context, model: modelOptions, limits } = options;
  const model = await createModel(context, modelOptions);
  try {
    const row = probeRow(limits);
    await checkVocabulary(model, row, limits);
    const { normalisation, metrics } = await probeNormalisation(options, model, row);
    const losses = await probeLosses(model, row);
    const sampling = await probeSampling(options, model, row);
    return { normalisation, losses, sampling, clips: !ignoresClipping(metrics) };
  } finally {
    await model.unload();
  }
}

type ProbeRow = ReturnType<typeof probeRow>;

/** Ends with the last id of the vocabulary: a smaller model does not know it. */
function probeRow({ vocabSize }: RowLimits) {
  const ids = [0, 1, 2, 3, 4, 5, 6].map((i) => Math.floor((i * (vocabSize - 1)) / 7));
  return { tokens: Int32Array.of(...ids, vocabSize - 1), promptLength: 1, temperature: 1 };
}

async function checkVocabulary(
  model: RemoteModel,
  row: ProbeRow,
  { vocabSize }: RowLimits,
): Promise<void> {
  try {
    await scoreData(model, [
      datumOf(row, {}),
      datumOf({ ...row, tokens: row.tokens.toReversed() }, {}),
    ]);
  } catch (cause) {
    if (!(cause instanceof EngineError) || cause.code === 'ENGINE_WORKER_DIED') throw cause;
    throw new EngineError(
      `The Tinker server cannot score the ids up to ${vocabSize - 1}, the vocabulary of model.model_path: it runs another model. Start it with that model, or name the one it runs.`,
      { code: 'TINKER_VOCABULARY', cause },
    );
  }
}

const still: AdamParams = {
  learning_rate: 0,
  beta1: 0.9,
  beta2: 0.999,
  eps: 1e-8,
  weight_decay: 0,
  grad_clip_norm: 0,
};

/** Twice the weights: twice the gradient where losses are added, the same where they are divided. */
async function probeNormalisation(
  { context: { logger } }: ProbeOptions,
  model: RemoteModel,
  row: ProbeRow,
): Promise<{
  readonly normalisation: Normalisation;
  readonly metrics: Readonly<Record<string, number>>;
}> {
  const withWeight = async (weight: number): Promise<Readonly<Record<string, number>>> => {
    const weights = new Float32Array(row.tokens.length - 1).fill(weight);
    const [, metrics] = await Promise.all([
      runPass(model, { lossFn: 'cross_entropy', data: [datumOf(row, { weights })] }, false),
      model.step(still),
    ]);
    return metrics;
  };
  const one = await withWeight(1);
  const norms = [gradNormOf(one), gradNormOf(await withWeight(2))] as const;
  const [single, double] = norms;
  if (single === undefined || double === undefined) {
    logger.info(
      'The Tinker server reports no gradient norm; its losses are taken to be sums, as the protocol says.',
    );
    return { normalisation: 'sum', metrics: one };
  }
  const ratio = double / single;
  if (Math.abs(ratio - 2) < 0.05) return { normalisation: 'sum', metrics: one };
  if (Math.abs(ratio - 1) < 0.05) return { normalisation: 'mean-per-datum', metrics: one };
  throw new EngineError(
    `The Tinker server reports the gradient norms ${single} and ${double} for weights of 1 and 2: its gradients are neither sums nor means, so no algorithm would be trained as it is written.`,
    { code: 'TINKER_UNSUPPORTED' },
  );
}

/** True if a sampling session still samples what was saved once the model has learned. */
async function probeSampling(
  { context: { calls, logger } }: ProbeOptions,
  model: RemoteModel,
  row: ProbeRow,
): Promise<SamplingWeights> {
  const handle = holdSampling(await model.saveForSampling(), { logger });
  const before = await scoreRow(calls, handle, row);
  const weights = new Float32Array(row.tokens.length - 1).fill(1);
  await Promise.all([
    runPass(model, { lossFn: 'cross_entropy', data: [datumOf(row, { weights })] }, false),
    model.step({ ...still, learning_rate: 0.05 }),
  ]);
  const after = await scoreRow(calls, handle, row);
  const change = Math.max(...after.map((value, i) => Math.abs(value - (before[i] ?? 0))));
  return change > 0.01 ? 'live' : 'snapshot';
}
