/** Compares samples, scores, steps and checkpoints of the whole engine on a device with those on the CPU. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../packages/core/src/engine-seam.js';
import { createModelFolder, createOnnxEngine } from '../../packages/engine-onnx/src/index.js';
import { loadModelFolder } from '../../packages/engine-onnx/src/storage/model-folder.js';
import { noSwiftShader, useSwiftShader } from '../support/src/gpu/swiftshader.js';

const root = await mkdtemp(path.join(tmpdir(), 'webgpu-engine-'));
const modelPath = path.join(root, 'model');
beforeAll(async () => {
  await createModelFolder({
    directory: modelPath,
    seed: 3,
    initializerRange: 0.15,
    config: {
      vocabSize: 96,
      hiddenSize: 32,
      layers: 2,
      heads: 4,
      kvHeads: 2,
      headDim: 8,
      maxPositions: 64,
    },
  });
  if (noSwiftShader === undefined) await useSwiftShader();
});
afterAll(() => rm(root, { recursive: true, force: true }));

const runtime = new URL('../../packages/engine-webgpu/src/index.ts', import.meta.url).href;
const lora = { rank: 4, alpha: 4, seed: 1 };

test.skipIf(noSwiftShader).each([
  ['adapters', { lora }],
  ['all weights', {}],
])('two steps of %s', { timeout: 300_000 }, async (name, trained) => {
  const options = { modelPath, threads: 1, reference: true, ...trained };
  const [device, cpu] = [
    await train(await createOnnxEngine({ ...options, runtime }), name),
    await train(await createOnnxEngine(options), name),
  ];
  expect(device.tokens).toEqual(cpu.tokens);
  expect(device.scored).toEqual(device.sampled);
  expect(largestDifference(device.scored, cpu.scored)).toBeLessThan(1e-5);
  expect(largestDifference(device.norms, cpu.norms)).toBeLessThan(1e-5);
  expect(largestDifference(device.weights, cpu.weights)).toBeLessThan(1e-5);
});

test.skipIf(noSwiftShader)('a process that ends during work exits', { timeout: 300_000 }, () => {
  const { status, signal } = spawnSync(
    process.execPath,
    [...sources, 'tests/webgpu/programs/ended-engine.ts', modelPath],
    {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      stdio: 'ignore',
      timeout: 120_000,
      killSignal: 'SIGKILL',
    },
  );
  expect({ status, signal }).toEqual({ status: 3, signal: null });
});

const sources = ['--conditions=@trinity-rft/source', '--import=./tools/register-source.mjs'];

/** Samples, scores, makes two train steps on the samples, and closes the engine. */
async function train(engine: Engine, name: string) {
  const { trainer, sampler } = engine;
  const found = {
    tokens: [] as number[],
    sampled: [] as number[],
    scored: [] as number[],
    norms: [] as number[],
  };
  const prompt = Int32Array.of(1, 2, 3, 4, 5);
  for (const version of [0, 1]) {
    await trainer.publish(version);
    await sampler.adopt({ kind: 'published' }, version);
    const samples = await sampler.sample(prompt, { n: 3, maxTokens: 6, seed: version });
    found.tokens.push(...samples.flatMap(({ tokens }) => [...tokens]));
    found.sampled.push(...samples.flatMap(({ logprobs }) => [...logprobs]));
    const rows = samples.map(({ tokens }) => ({
      tokens: Int32Array.from([...prompt, ...tokens]),
      promptLength: prompt.length,
      temperature: 1,
    }));
    const pass = await trainer.forward({ rows });
    found.scored.push(...pass.logprobs);
    await trainer.backward(pass, { logprobs: pass.logprobs.map((_, i) => (i % 2 ? 0.1 : -0.1)) });
    const { gradNorm } = await trainer.step({ learningRate: 1e-2 });
    found.norms.push(gradNorm);
  }
  const directory = await mkdtemp(path.join(root, name));
  await trainer.save(directory, { optimizer: true });
  await engine.close();
  const { weights } = await loadModelFolder(directory);
  return { ...found, weights };
}

const largestDifference = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  a.length === b.length
    ? Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)))
    : Infinity;
