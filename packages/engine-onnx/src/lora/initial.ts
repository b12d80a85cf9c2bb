import { createRandom, deriveSeed } from '@trinity-rft/core';

import { adapterSpecs, type AdapterTarget } from './plan.js';

/**
 * Creates the initial matrices of adapters, with which the model's outputs are unchanged: B is 0. A
 * is uniform in (-1 / sqrt(in), 1 / sqrt(in)), which is the Kaiming bound sqrt(6 / ((1 + s^2) in))
 * for s = sqrt(5). Each matrix has its own random stream, which depends only on the seed and the
 * matrix's name.
 * @see PEFT, `LoraLayer.reset_lora_parameters`
 */
export function initialAdapters(targets: readonly AdapterTarget[], seed: number): Float32Array {
  const flat = new Float32Array(adapterSpecs(targets).reduce((sum, { size }) => sum + size, 0));
  for (const { a } of targets) {
    const [, input = 1] = a.shape;
    const bound = 1 / Math.sqrt(input);
    const random = createRandom(deriveSeed(seed, 'lora', a.name));
    for (let i = 0; i < a.size; i++) flat[a.offset + i] = (2 * random.next() - 1) * bound;
  }
  return flat;
}
