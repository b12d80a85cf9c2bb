/**
 * Reads the weights of a model with its adapter merged in, one tensor at a time, even if model and adapter are in
 * two folders.
 */
import { join } from 'node:path';

import type { Quantization } from '@trinity-rft/core/engine';

import { holdsAdapterOnly, modelBelow } from '../lora/load-model.js';
import { loadAdapters } from '../lora/peft-folder.js';
import { adapterScale, adapterTargets, type AdapterTarget } from '../lora/plan.js';
import { parameterSpecs } from '../model/parameters.js';
import { once } from '../runtime/once.js';
import { adapterFolder, readBaseRecord } from '../storage/base-record.js';
import { readModelConfig } from '../storage/model-folder.js';
import { openWeights, type StoredWeights } from '../storage/open-weights.js';
import { isBlocks, readRow } from './base.js';
import { inBlocks } from './load.js';

export interface MergedWeights extends StoredWeights {
  /**
   * Present if the adapter was trained on top of quantised weights: merging it into the quantised model gives a
   * different model.
   */
  readonly beside?: { readonly quantization: Quantization; readonly model: string };
}

/**
 * Opens weights as {@link openWeights} does. The weights of a folder that holds only an adapter are W + alpha /
 * rank B A, with W of the frozen model; a quantised W is converted to numbers. Memory holds the adapter, from
 * the first tensor on, and one tensor at a time.
 * @throws CheckpointError as {@link openWeights}, or when the frozen model cannot be read
 */
export async function openMergedWeights(path: string): Promise<MergedWeights> {
  if (!(await holdsAdapterOnly(path))) return openWeights(path);
  const config = await readModelConfig(path);
  const { quantization } = await readBaseRecord(path);
  const model = await modelBelow(path);
  const specs = new Map(parameterSpecs(config).map((spec) => [spec.name, spec]));
  const adapter = once(async () => {
    const { plan, flat } = await loadAdapters(join(path, adapterFolder), config);
    const targets = new Map(adapterTargets(config, plan).map((each) => [each.weight.name, each]));
    return { flat, targets, scale: adapterScale(plan) };
  });
  const below = await openMergedWeights(model);
  return {
    ...below,
    read: async (name) => {
      const numbers = await below.read(name);
      const { flat, targets, scale } = await adapter();
      const [spec, target] = [specs.get(name), targets.get(name)];
      const stored = spec && quantization && inBlocks(spec, numbers, quantization);
      if (stored && isBlocks(stored)) {
        const width = spec.shape[1]!;
        for (let row = 0; row < spec.shape[0]!; row++)
          readRow(stored, row, numbers.subarray(row * width, (row + 1) * width));
      }
      if (target) addProduct(numbers, target, flat, scale);
      return numbers;
    },
    ...(quantization && { beside: { quantization, model } }),
  };
}

/** numbers += scale B A */
function addProduct(
  numbers: Float32Array,
  { a, b }: AdapterTarget,
  flat: Float32Array,
  scale: number,
): void {
  const [rank, width] = a.shape as [number, number];
  const change = new Float64Array(width);
  for (let row = 0; row < b.shape[0]!; row++) {
    change.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = scale * flat[b.offset + row * rank + r]!;
      const start = a.offset + r * width;
      for (let i = 0; i < width; i++) change[i]! += factor * flat[start + i]!;
    }
    for (let i = 0; i < width; i++) numbers[row * width + i]! += change[i]!;
  }
}
