/** Adapters that are trained on top of quantised weights, and their checkpoints. */
import { InvariantError } from '@trinity-rft/core';
import { lazily } from '@trinity-rft/core/support';

import {
  assertSamePlan,
  loadAdapterCheckpoint,
  saveAdapterCheckpoint,
} from '../lora/checkpoint.js';
import { adaptersOf } from '../lora/open.js';
import { adapterScale, adapterSpecs, adapterTargets, planAdapters } from '../lora/plan.js';
import type { ParameterSpec } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import type { ModelFiles } from '../storage/model-folder.js';
import type { OnnxRuntime } from '../runtime/onnx-runtime.js';
import type { SamplerKernels } from '../sample/kernels.js';
import { planUpdate, type OptimizerState } from '../train/adamw.js';
import { GradientSum } from '../train/gradient.js';
import type { Trainable } from '../train/trainable.js';
import type { QuantizedBase } from './base.js';
import { loadQuantizedBase } from './load.js';
import { QuantizedModel } from './model.js';
import type { Quantized } from './options.js';

export interface QuantizedOptions extends Quantized {
  /**
   * True to keep a reference model. The reference has the adapters of `checkpoint`, or no adapters
   * if there is no checkpoint.
   */
  readonly reference: boolean;
}

/** Sampling, training and checkpoints of adapters on quantised weights; used by `TrainingState`. */
export interface QuantizedState {
  /** Weight sets that hold only the adapters. */
  readonly weights: WeightBuffers;
  readonly trainable: Trainable;
  readonly kernels: SamplerKernels;
  save(
    directory: string,
    contents: { readonly optimizer: OptimizerState | undefined },
  ): Promise<void>;
  load(directory: string): Promise<OptimizerState | undefined>;
  read(directory: string): Promise<Float32Array>;
  close(): Promise<void>;
}

/**
 * Opens a model with quantised weights, and new or stored adapters.
 * @throws EngineError if new adapters do not fit the model; CheckpointError if stored adapters do
 * not fit it, or if the weights cannot be read; ConfigError if `quantization` is `file` and the
 * model file is not quantised
 */
export async function openQuantized(
  { modelPath, lora, quantization, reference, checkpoint }: QuantizedOptions,
  runtime: OnnxRuntime,
  files: ModelFiles,
): Promise<QuantizedState> {
  const { config } = files;
  const { get: loadBase } = lazily(() => loadQuantizedBase(modelPath, config, quantization));
  const { get: digest } = lazily(async () => (await loadBase()).digest());
  const frozen = { weights: undefined, quantization, digest };
  const { plan, flat } = await adaptersOf(config, lora, frozen);
  if (checkpoint?.expected)
    assertSamePlan(checkpoint.directory, plan, planAdapters(config, checkpoint.expected));
  const adapters = { targets: adapterTargets(config, plan), scale: adapterScale(plan) };
  const specs = adapterSpecs(adapters.targets);
  const weights = new WeightBuffers(runtime, config, flat, specs);
  // Adapters of zeros give the model without adapters, computed by the same graphs.
  if (reference) weights.setReference(checkpoint ? flat.slice() : new Float32Array(flat.length));
  const base = await loadBase();
  const model = await QuantizedModel.open(runtime, base, adapters);
  const read = (directory: string) =>
    loadAdapterCheckpoint(directory, { config, plan, base: frozen });
  return {
    weights,
    trainable: trainable(weights, specs, { adapters, model, base }),
    kernels: model.kernels,
    save: async (directory, { optimizer }) =>
      saveAdapterCheckpoint(directory, {
        files,
        plan,
        flat: await runtime.readSet(weights.training),
        weights: undefined,
        modelPath,
        optimizer,
        base: frozen,
      }),
    load: async (directory) => {
      const found = await read(directory);
      weights.update(found.flat);
      return found.optimizer;
    },
    read: async (directory) => (await read(directory)).flat,
    close: () => Promise.resolve(),
  };
}

function trainable(
  weights: WeightBuffers,
  specs: readonly ParameterSpec[],
  {
    adapters,
    model,
    base,
  }: {
    readonly adapters: Trainable['adapters'];
    readonly model: QuantizedModel;
    readonly base: QuantizedBase;
  },
): Trainable {
  return {
    specs,
    feeds: base.feeds,
    ...(adapters && { adapters }),
    quantized: { base, score: (...given) => model.score(...given) },
    backwardGraph: () => {
      throw new InvariantError('Gradients beside quantised weights are computed layer by layer.');
    },
    newGradient: () => new GradientSum(weights.runtime, specs),
    update: ({ set: gradient }, state, options) =>
      weights.rewrite((from, to) =>
        weights.runtime.adamW({ ...state, from, to, gradient }, planUpdate(specs, state, options)),
      ),
  };
}
