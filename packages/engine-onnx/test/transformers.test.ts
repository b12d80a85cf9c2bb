/**
 * Compares the engine with Hugging Face transformers and torch; the fixtures come from
 * tools/fixtures/transformers_models.py.
 */
import { expect, test } from 'vitest';
import { parameterSpecs } from '../src/model/parameters.js';
import { loadModelFolder } from '../src/storage/model-folder.js';
import { globalNorm } from '../src/runtime/onnx-runtime.js';
import { clipScale, planUpdate } from '../src/train/adamw.js';
import { architectures } from './support/architectures.js';
import { differencesFrom } from './support/against-transformers.js';
import { distance, readBatch, readTensors } from './support/fixtures.js';
import { cpu } from './support/runtime.js';

const folderOf = (name: string): string => new URL(`fixtures/${name}/`, import.meta.url).pathname;

test.each(['qwen3', 'qwen2', 'llama', ...architectures])(
  'scores and gradients of %s equal those of transformers',
  async (name) => {
    const { logprobs, entropy, gradient } = await differencesFrom(folderOf(name));
    expect(logprobs).toBeLessThan(1e-5);
    expect(entropy).toBeLessThan(1e-5);
    expect(gradient).toBeLessThan(1e-4);
  },
);

test.each(['qwen3', 'qwen2', 'llama'])('steps of %s equal those of torch', async (name) => {
  const { config, weights } = await loadModelFolder(folderOf(name));
  const { optimizer } = await readBatch(folderOf(name));
  const stored = await readTensors(`${folderOf(name)}expected.safetensors`);
  const expected = (tensor: string) => stored.get(tensor)!.data;
  const specs = parameterSpecs(config);
  const gradient = Float32Array.from(specs.flatMap((spec) => [...expected(`grad.${spec.name}`)]));
  const runtime = cpu();
  const set = (flat?: Float32Array) => runtime.set(specs, flat);
  const [trained, first, second] = [set(weights), set(), set()];
  const sets = { from: trained, to: trained, gradient: set(gradient), first, second };
  const state = { step: 0 };
  const gradientScale = clipScale(globalNorm(gradient), optimizer.clipGradNorm);
  for (let i = 0; i < optimizer.steps; i++)
    await runtime.adamW(sets, planUpdate(specs, state, { ...optimizer, gradientScale }));
  const stepErrors = specs.map((spec) => ({
    name: spec.name,
    error: distance(
      weights.subarray(spec.offset, spec.offset + spec.size),
      expected(`stepped.${spec.name}`),
    ),
  }));
  expect(stepErrors.filter(({ error }) => !(error < 1e-6))).toEqual([]);
});
