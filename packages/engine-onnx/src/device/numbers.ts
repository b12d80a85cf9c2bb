/** Trains a tiny model on both devices, and compares log-probabilities, gradients and weights. */
import { join } from 'node:path';

import type { Engine, TokenRow } from '@trinity-rft/core/engine';

import {
  adapterSpecs,
  adapterTargets,
  planAdapters,
  type LoraOptions,
  type NewAdapters,
} from '../lora/plan.js';
import type { ModelConfig } from '../model/config.js';
import { parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import { adapterFolder } from '../storage/base-record.js';
import { loadModelFolder } from '../storage/model-folder.js';
import { createModelFolder } from '../storage/new-model.js';
import { loadOptimizer } from '../storage/optimizer.js';
import { countUnequal, largestDifference, sampleRows, trainOn } from './one-step.js';
import type { NumberDifferences } from './report.js';

const tiny = { vocabSize: 96, hiddenSize: 32, layers: 1, heads: 4, kvHeads: 2, headDim: 8 };
// Enough tokens to use the kernels for large matrix products as well as those for small products.
const size = { answers: 3, promptTokens: 5, answerTokens: 6 };
const steps = 5;

/** Size and seed of the LoRA adapters of the tiny model. */
const adapters = { rank: 4, alpha: 8, seed: 1 };

interface Opened {
  readonly modelPath: string;
  readonly lora: LoraOptions | undefined;
}

type OpenTiny = (device: 'cpu' | 'webgpu', opened: Opened) => Promise<Engine>;

export interface CompareOptions {
  /** True to train LoRA adapters instead of all weights. */
  readonly lora: boolean;
  /** Empty folder for the model and its checkpoints. */
  readonly scratch: string;
}

export async function compareNumbers(
  open: OpenTiny,
  { lora: isLora, scratch }: CompareOptions,
): Promise<NumberDifferences> {
  const lora = isLora ? adapters : undefined;
  const directory = join(scratch, 'tiny');
  // With the usual range of 0.02, attention would be nearly uniform, which would hide its errors.
  const config = await createModelFolder({
    directory,
    seed: 3,
    initializerRange: 0.15,
    config: { ...tiny, maxPositions: 64 },
  });
  const trained = trainedParameters(config, lora);
  const run = async (device: 'cpu' | 'webgpu', rows?: readonly TokenRow[]): Promise<TinyRun> => {
    const engine = await open(device, { modelPath: directory, lora });
    try {
      return await trainTiny(engine, join(scratch, device), trained, rows);
    } finally {
      await engine.close();
    }
  };
  const gpu = await run('webgpu');
  const cpu = await run('cpu', gpu.rows);
  return {
    unequal: countUnequal(gpu.sampled, gpu.scored),
    logprobs: largestDifference(gpu.scored, cpu.scored),
    gradients: largestRelative(gpu.gradients, cpu.gradients, trained.specs),
    weights: largestDifference(gpu.weights, cpu.weights),
  };
}

interface Trained {
  readonly specs: readonly ParameterSpec[];
  /** Folder inside a checkpoint that contains AdamW's moments. */
  readonly folder: string;
}

function trainedParameters(config: ModelConfig, lora: NewAdapters | undefined): Trained {
  if (!lora) return { specs: parameterSpecs(config), folder: '.' };
  const specs = adapterSpecs(adapterTargets(config, planAdapters(config, lora)));
  return { specs, folder: adapterFolder };
}

interface TinyRun {
  readonly rows: readonly TokenRow[];
  /** Log-probabilities of the sampled tokens, as the sampler reported them. */
  readonly sampled: ArrayLike<number>;
  /** Log-probabilities that the trainer computes for the rows in the first step. */
  readonly scored: ArrayLike<number>;
  /** AdamW's first moments after two steps: a running mean of the gradients. */
  readonly gradients: Float32Array;
  /** Weights after the last step. */
  readonly weights: Float32Array;
}

/**
 * Trains the tiny model for several steps.
 * @param given rows to train on; if undefined, the rows that the engine samples
 */
async function trainTiny(
  engine: Engine,
  directory: string,
  { specs, folder }: Trained,
  given?: readonly TokenRow[],
): Promise<TinyRun> {
  const { rows: own, logprobs: sampled } = await sampleRows(engine, 0, size);
  const rows = given ?? own;
  const scored = await trainOn(engine, rows);
  // New adapters have B = 0, so A has no gradient in the first step.
  await trainOn(engine, rows);
  await engine.trainer.save(directory, { optimizer: true });
  const state = await loadOptimizer(join(directory, folder), specs);
  for (let step = 2; step < steps; step++) await trainOn(engine, rows);
  await engine.trainer.save(directory, { optimizer: false });
  const { weights } = await loadModelFolder(directory);
  return { rows, sampled, scored, gradients: state?.first ?? new Float32Array(), weights };
}

/**
 * Returns the largest difference between two flat arrays of parameters, relative to the largest
 * expected entry of the same tensor.
 */
function largestRelative(
  found: Float32Array,
  expected: Float32Array,
  specs: readonly ParameterSpec[],
): number {
  const parts = specs.map(({ offset, size: count }) => {
    const part = expected.subarray(offset, offset + count);
    const scale = part.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-30);
    return largestDifference(found.subarray(offset, offset + count), part) / scale;
  });
  return Math.min(Math.max(...parts), Number.MAX_VALUE);
}
