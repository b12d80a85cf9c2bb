/**
 * Measures how the server normalises losses, clips gradients and keeps saved weights, using a
 * temporary adapter. Implementations of the protocol differ in these respects and do not report
 * what they do.
 */
import { EngineError, TrinityError } from '@trinity-rft/core';
import type { Connection } from './http/connection.js';
import { removeSaved, statusOf } from './remote/saved.js';
import {
  createModel,
  unloadAll,
  type AdamParams,
  type ModelContext,
  type ModelOptions,
  type RemoteModel,
} from './remote/model.js';
import { holdSampling } from './sample/handle.js';
import { scoreRow } from './sample/sampler.js';
import type { SamplingWeights } from './sample/weights.js';
import type { Normalisation } from './train/gradients.js';
import {
  gradientRatio,
  normalisationOf,
  precisionRemedy,
  probePrecision,
  type AdapterProbe,
} from './probe-adapter.js';
import { probeLosses } from './probe-losses.js';
import type { LossTraits } from './train/expected.js';
import { gradNormOf, ignoresClipping } from './train/gradient-norm.js';
import { runPass, scoreData } from './train/passes.js';
import { datumOf, type RowLimits } from './train/rows.js';

export interface ServerTraits extends LossTraits {
  readonly sampling: SamplingWeights;
  /** True if the server clips the gradient norm to `grad_clip_norm`. */
  readonly clips: boolean;
  /** True if unloading a model deletes its saved weights (TuFT). */
  readonly forgets: boolean;
}

export interface ProbeOptions {
  readonly context: ModelContext;
  readonly connection: Connection;
  /** True if the server supports sampling. */
  readonly samples: boolean;
  /** Optimizer settings of the training run. */
  readonly adam: AdamParams;
  readonly model: ModelOptions;
  readonly limits: RowLimits;
}

export async function probeServer(options: ProbeOptions): Promise<ServerTraits> {
  const { context, connection } = options;
  const { calls, logger } = context;
  const model = await createModel(context, options.model);
  let traits: Omit<ServerTraits, 'forgets'>;
  let address: string;
  const name = 'probe';
  try {
    traits = await probeModel(options, model);
    address = await model.saveWeights(name);
  } catch (error) {
    await unloadAll(context, [model]);
    throw error;
  }
  await model.unload();
  const forgets = (await statusOf(calls, address)) !== undefined;
  if (!forgets)
    await removeSaved({ connection, logger }, { modelId: model.id, kind: 'weights', name });
  return { ...traits, forgets };
}

async function probeModel(
  options: ProbeOptions,
  model: RemoteModel,
): Promise<Omit<ServerTraits, 'forgets'>> {
  const { context, connection, limits, samples, adam } = options;
  const { logger } = context;
  const row = probeRow(limits);
  await checkVocabulary(model, row, limits);
  const step: AdapterProbe['step'] = (weight, params) => update(model, row, weight, params);
  const probe = { model, connection, logger, step, rank: options.model.lora.rank };
  try {
    const { normalisation, metrics } = await probeNormalisation(probe, adam);
    const losses = await probeLosses(model, row);
    const sampling = samples ? await probeSampling(options, model, row) : 'snapshot';
    await probePrecision(probe, adam);
    // Rejects if the last update has made weights NaN.
    await scoreData(model, [datumOf(row, {})]);
    return { normalisation, losses, sampling, clips: !ignoresClipping(metrics) };
  } catch (cause) {
    if (!TrinityError.is(cause) || cause.code !== 'TINKER_NOT_FINITE') throw cause;
    throw new EngineError(
      `The weights of the Tinker server are no longer finite after an update with betas ${adam.beta1} and ${adam.beta2}: ${cause.message} Half precision rounds a beta2 of 0.999 to 1. ${precisionRemedy}.`,
      { code: 'TINKER_PRECISION', cause },
    );
  }
}

type ProbeRow = ReturnType<typeof probeRow>;

/**
 * Creates a row of token ids that ends with the last id of the vocabulary. If the server's model
 * has a smaller vocabulary, the server rejects the row.
 */
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

/** Sends a cross-entropy pass with `weight` on all targets, then an optimizer step. */
async function update(
  model: RemoteModel,
  row: ProbeRow,
  weight: number,
  adam: AdamParams,
): Promise<Readonly<Record<string, number>>> {
  const weights = new Float32Array(row.tokens.length - 1).fill(weight);
  const [, metrics] = await Promise.all([
    runPass(model, { lossFn: 'cross_entropy', data: [datumOf(row, { weights })] }, false),
    model.step(adam),
  ]);
  return metrics;
}

/**
 * Measures how the server normalises losses. Doubled weights double the gradient if losses are
 * summed, and leave it unchanged if losses are averaged.
 */
async function probeNormalisation(
  probe: AdapterProbe,
  adam: AdamParams,
): Promise<{
  readonly normalisation: Normalisation;
  readonly metrics: Readonly<Record<string, number>>;
}> {
  const still = { ...adam, learning_rate: 0 };
  const metrics = await probe.step(1, still);
  const [single, double] = [gradNormOf(metrics), gradNormOf(await probe.step(2, still))];
  if (single !== undefined && double !== undefined)
    return { normalisation: normalisationOf(double / single, 0.05), metrics };
  const ratio = await gradientRatio(probe);
  if (ratio !== undefined) return { normalisation: normalisationOf(ratio, 0.1), metrics };
  probe.logger.info(
    'The Tinker server reports no gradient norm and hands out no adapters; its losses are taken to be sums, as the protocol says.',
  );
  return { normalisation: 'sum', metrics };
}

/**
 * Returns `snapshot` if a sampling session still uses the same weights after the model was trained
 * further, and `live` if it then uses the new weights.
 */
async function probeSampling(
  { context: { calls, logger }, adam }: ProbeOptions,
  model: RemoteModel,
  row: ProbeRow,
): Promise<SamplingWeights> {
  const handle = holdSampling(await model.saveForSampling(), { logger });
  const before = await scoreRow(calls, handle, row);
  await update(model, row, 1, { ...adam, learning_rate: 0.05 });
  const after = await scoreRow(calls, handle, row);
  const change = Math.max(...after.map((value, i) => Math.abs(value - (before[i] ?? 0))));
  return change > 0.01 ? 'live' : 'snapshot';
}
