/**
 * The engine against Hugging Face transformers and torch; the fixtures come from
 * tools/fixtures/transformers_models.py.
 */
import { describe, expect, test } from 'vitest';
import { loadModelFolder } from '../src/storage/model-folder.js';
import { parameterSpecs } from '../src/model/parameters.js';
import { WeightBuffers } from '../src/model/weights.js';
import { adamW, clipScale, globalNorm } from '../src/train/adamw.js';
import { blankOptimizer } from '../src/train/optimizer-file.js';
import { OnnxTrainer } from '../src/train/trainer.js';
import { distance, largest, readBatch, readTensors } from './support/fixtures.js';

async function fixture(family: string) {
  const folder = new URL(`fixtures/${family}/`, import.meta.url).pathname;
  const { config, weights } = await loadModelFolder(folder);
  const { batch, optimizer } = await readBatch(folder);
  const stored = await readTensors(`${folder}expected.safetensors`);
  const buffers = new WeightBuffers(config, weights);
  return { config, batch, buffers, optimizer, expected: (name: string) => stored.get(name)!.data };
}

describe.each(['qwen3', 'qwen2', 'llama'])('%s', (family) => {
  test('scores, gradients and steps equal those of transformers and torch', async () => {
    const { config, batch, buffers, optimizer, expected } = await fixture(family);
    const trainer = new OnnxTrainer({ config, weights: buffers, threads: 1 });
    const specs = parameterSpecs(config);
    const part = (array: Float32Array, spec: { offset: number; size: number }) =>
      array.subarray(spec.offset, spec.offset + spec.size);

    const pass = await trainer.forward(batch, { entropy: true });
    expect(distance(pass.logprobs, expected('logprobs'))).toBeLessThan(1e-5);
    expect(distance(pass.entropy!, expected('entropy'))).toBeLessThan(1e-5);

    const gradients = { logprobs: expected('grad_logprobs'), entropy: expected('grad_entropy') };
    await trainer.backward(pass, gradients);
    const gradientErrors = specs.map((spec) => {
      const wanted = expected(`grad.${spec.name}`);
      return {
        name: spec.name,
        error: distance(part(trainer.gradient!, spec), wanted) / largest(wanted),
      };
    });
    expect(gradientErrors.filter(({ error }) => !(error < 1e-4))).toEqual([]);

    const gradient = Float32Array.from(specs.flatMap((spec) => [...expected(`grad.${spec.name}`)]));
    const state = blankOptimizer(specs, 0);
    const gradientScale = clipScale(globalNorm(gradient), optimizer.clipGradNorm);
    const { flat } = buffers.training;
    for (let i = 0; i < optimizer.steps; i++)
      adamW(specs, flat, flat, gradient, state, { ...optimizer, gradientScale });
    const stepErrors = specs.map((spec) => ({
      name: spec.name,
      error: distance(part(flat, spec), expected(`stepped.${spec.name}`)),
    }));
    expect(stepErrors.filter(({ error }) => !(error < 1e-6))).toEqual([]);
    await trainer.close();
  });
});
