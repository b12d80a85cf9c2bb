/**
 * Reads the weights of a model with its adapter merged in, one tensor at a time. Model and adapter
 * may be in two folders.
 */
import { join } from 'node:path';

import type { Quantization } from '@trinity-rft/core/engine';
import { lazily } from '@trinity-rft/core/support';

import { digestOf } from '../lora/frozen-weights.js';
import { mergeGraph } from '../lora/graphs.js';
import { holdsAdapterOnly, modelBelow } from '../lora/load-model.js';
import { loadAdapters } from '../lora/peft-folder.js';
import { adapterTargets } from '../lora/plan.js';
import { parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import type { LoadedGraph } from '../runtime/graph-runtime.js';
import { floats } from '../runtime/host-arrays.js';
import { OnnxRuntime } from '../runtime/onnx-runtime.js';
import { adapterFolder, readBaseRecord } from '../storage/base-record.js';
import { readModelConfig } from '../storage/model-folder.js';
import { openWeights, type StoredWeights } from '../storage/open-weights.js';
import { isBlocks, readRow } from './base.js';
import { digestQuantized, inBlocks } from './load.js';

export interface MergedWeights extends StoredWeights {
  /**
   * Quantised model whose weights stayed frozen while the adapter was trained; undefined if the
   * model was not quantised. If the adapter is merged and the weights are then quantised again, the
   * result differs from the trained model.
   */
  readonly beside?: { readonly quantization: Quantization; readonly model: string };
}

/**
 * Opens weights as {@link openWeights} does, but merges an adapter: the weights of a folder that
 * contains only an adapter are W + (alpha / rank) B A, where W are the weights of the frozen model.
 * A quantised W is converted to float32. The first `read` loads the adapter, and compares the
 * digest of W with that of the weights that the adapter was trained on. The comparison needs memory
 * for a part of a tensor, or for one tensor if the weights are quantised. Later reads need memory
 * for the adapter and for what they return.
 * @throws CheckpointError as {@link openWeights}, or when the frozen model cannot be read. `read`
 * throws a CheckpointError if the frozen model is not the model that the adapter was trained on
 */
export async function openMergedWeights(path: string): Promise<MergedWeights> {
  if (!(await holdsAdapterOnly(path))) return openWeights(path);
  const config = await readModelConfig(path);
  const folder = join(path, adapterFolder);
  const { quantization } = (await readBaseRecord(folder)) ?? {};
  const model = await modelBelow(path);
  const specs = new Map(parameterSpecs(config).map((spec) => [spec.name, spec]));
  const below = await openMergedWeights(model);
  async function* allParts() {
    for (const name of specs.keys()) yield* below.readParts(name);
  }
  const digest = (): Promise<string> =>
    quantization ? digestQuantized(model, config, quantization) : digestOf(allParts());
  /** Rounds rows of a parameter as those of the frozen model. Changes `numbers`. */
  const rounded = (name: string, numbers: Float32Array): Float32Array => {
    const spec = specs.get(name);
    if (!spec || !quantization) return numbers;
    const [rows = 1, ...row] = spec.shape;
    const width = spec.size / rows;
    const shape = [numbers.length / width, ...row];
    const stored = inBlocks({ ...spec, shape }, numbers, quantization);
    if (!isBlocks(stored)) return numbers;
    for (let at = 0; at < shape[0]!; at++)
      readRow(stored, at, numbers.subarray(at * width, (at + 1) * width));
    return numbers;
  };
  let loaded: LoadedGraph | undefined;
  const adapter = lazily(async () => {
    const { plan, flat } = await loadAdapters(folder, config, { quantization, digest });
    const targets = new Map(adapterTargets(config, plan).map((each) => [each.weight.name, each]));
    const runtime = new OnnxRuntime({ threads: { train: 1, sample: 1 } });
    const merger = (loaded = await runtime.load(mergeGraph(plan), 'train'));
    return { flat, targets, runtime, merger };
  });
  const read = async (name: string): Promise<Float32Array> => {
    const { flat, targets, runtime, merger } = await adapter.get();
    const numbers = rounded(name, await below.read(name));
    const target = targets.get(name);
    if (!target) return numbers;
    const factor = ({ offset, size, shape }: ParameterSpec) =>
      floats(flat.subarray(offset, offset + size), shape);
    const weight = floats(numbers, target.weight.shape);
    const inputs = { weight, a: factor(target.a), b: factor(target.b) };
    const { merged } = await merger.run(inputs);
    return (await runtime.read(merged!)) as Float32Array;
  };
  return {
    ...below,
    readParts: async function* (name, most) {
      const { targets } = await adapter.get();
      if (targets.has(name)) yield await read(name);
      else for await (const part of below.readParts(name, most)) yield rounded(name, part);
    },
    read,
    close: async () => {
      await below.close();
      await loaded?.free();
    },
    ...(quantization && { beside: { quantization, model } }),
  };
}
