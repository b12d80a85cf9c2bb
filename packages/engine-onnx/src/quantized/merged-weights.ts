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
import { inBlocks, loadQuantizedBase } from './load.js';

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
 * for one tensor, or for all weights if they are quantised. Later reads need memory for the adapter
 * and one tensor.
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
  const digest = async (): Promise<string> =>
    quantization
      ? (await loadQuantizedBase(model, config, quantization)).digest()
      : digestOf([...specs.keys()], (name) => below.read(name));
  let loaded: LoadedGraph | undefined;
  const adapter = lazily(async () => {
    const { plan, flat } = await loadAdapters(folder, config, { quantization, digest });
    const targets = new Map(adapterTargets(config, plan).map((each) => [each.weight.name, each]));
    const runtime = new OnnxRuntime({ threads: { train: 1, sample: 1 } });
    const merger = (loaded = await runtime.load(mergeGraph(plan), 'train'));
    return { flat, targets, runtime, merger };
  });
  return {
    ...below,
    read: async (name) => {
      const { flat, targets, runtime, merger } = await adapter.get();
      const numbers = await below.read(name);
      const [spec, target] = [specs.get(name), targets.get(name)];
      const stored = spec && quantization && inBlocks(spec, numbers, quantization);
      if (stored && isBlocks(stored)) {
        const width = spec.shape[1]!;
        for (let row = 0; row < spec.shape[0]!; row++)
          readRow(stored, row, numbers.subarray(row * width, (row + 1) * width));
      }
      if (!target) return numbers;
      const factor = ({ offset, size, shape }: ParameterSpec) =>
        floats(flat.subarray(offset, offset + size), shape);
      const weight = floats(numbers, target.weight.shape);
      const inputs = { weight, a: factor(target.a), b: factor(target.b) };
      const { merged } = await merger.run(inputs);
      return (await runtime.read(merged!)) as Float32Array;
    },
    close: async () => {
      await below.close();
      await loaded?.free();
    },
    ...(quantization && { beside: { quantization, model } }),
  };
}
