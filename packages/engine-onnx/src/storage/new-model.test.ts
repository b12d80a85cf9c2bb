import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';

import type { RopeScaling } from '../model/config.js';
import { parseModelConfig } from '../model/parse-config.js';
import { completeConfig, createModelFolder, newModelFamilies, toConfigJson } from './new-model.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'new-model-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const config = { vocabSize: 16, hiddenSize: 32, layers: 2, heads: 4, kvHeads: 2 };

it('writes equal bytes for equal seeds, and others for other seeds', async () => {
  for (const [name, seed] of [
    ['a', 1],
    ['b', 1],
    ['c', 2],
  ] as const)
    await createModelFolder({ directory: join(folder, name), seed, config });
  const [a, b, c] = await Promise.all(
    ['a', 'b', 'c'].map((name) => readFile(join(folder, name, 'model.safetensors'))),
  );
  expect(a).toEqual(b);
  expect(a).not.toEqual(c);
  expect(await readFile(join(folder, 'a', 'config.json'))).toEqual(
    await readFile(join(folder, 'b', 'config.json')),
  );
});

it('rejects files that a model folder does not have', async () => {
  const created = createModelFolder({
    directory: folder,
    seed: 1,
    config,
    tokenizerFiles: { 'weights.bin': 'x' },
  });
  await expect(created).rejects.toThrow(
    'cannot have the file weights.bin; expected one of tokenizer.json',
  );
});

it.each([
  ['llama', { qkNorm: true }, 'A new llama model has qkNorm false, not true'],
  ['qwen3', { qkNorm: false }, 'A new qwen3 model has qkNorm true, not false'],
  ['llama', { qkvBias: true, outputBias: false }, 'A new llama model has outputBias true'],
  ['qwen2', { qkvBias: false }, 'A new qwen2 model has qkvBias true, not false'],
] as const)('rejects traits that a %s does not have: %o', async (family, traits, message) => {
  const options = { directory: folder, seed: 1, config: { ...config, family, ...traits } };
  await expect(createModelFolder(options)).rejects.toThrow(message);
  expect(await readdir(folder)).toEqual([]);
});

it('rejects sizes that do not go together', async () => {
  const created = createModelFolder({
    directory: folder,
    seed: 1,
    config: { ...config, heads: 3, headDim: 8 },
  });
  await expect(created).rejects.toThrow(
    'num_key_value_heads is 2; expected a divisor of num_attention_heads (3)',
  );
});

it('reads back every config that it writes', () => {
  const scaling: fc.Arbitrary<RopeScaling> = fc.oneof(
    fc.constant<RopeScaling>({ kind: 'linear', factor: 2 }),
    fc.constant<RopeScaling>({
      kind: 'llama3',
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalMaxPositions: 512,
    }),
    fc.constant<RopeScaling>({
      kind: 'yarn',
      factor: 4,
      betaFast: 16,
      betaSlow: 2,
      attentionFactor: 1.5,
      originalMaxPositions: 512,
      truncate: false,
    }),
  );
  const configs = fc.record(
    {
      family: fc.constantFrom(...newModelFamilies),
      ropeScaling: scaling,
      ropeTheta: fc.integer({ min: 1, max: 1_000_000 }),
      tieEmbeddings: fc.boolean(),
      eosTokenIds: fc.uniqueArray(fc.nat(15), { maxLength: 3 }),
      bosTokenId: fc.nat(15),
      padTokenId: fc.nat(15),
    },
    { requiredKeys: ['family'] },
  );
  fc.assert(
    fc.property(configs, (extra) => {
      const complete = completeConfig({ ...config, ...extra });
      expect(parseModelConfig(JSON.parse(JSON.stringify(toConfigJson(complete))), 'x')).toEqual(
        complete,
      );
    }),
  );
});
