import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createRandom } from '@trinity-rft/core';
import { writeManifest } from '@trinity-rft/core/engine';
import { numberOfHalf } from '@trinity-rft/core/support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { normals } from '../test/support/numeric.js';
import { saveAdapters } from './lora/peft-folder.js';
import { adapterScale, adapterSpecs, adapterTargets, planAdapters } from './lora/plan.js';
import { checkModel } from './check-model.js';
import { convertModel } from './convert.js';
import { openCriticFolder } from './critic/critic-folder.js';
import { encodeFloats } from './storage/dtype.js';
import { loadModelFolder, saveModelFolder } from './storage/model-folder.js';
import { createModelFolder } from './storage/new-model.js';

let root = '';
const at = (name: string): string => join(root, name);
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'convert-'));
  await createModelFolder({
    directory: at('model'),
    seed: 3,
    config: {
      vocabSize: 40,
      hiddenSize: 16,
      layers: 2,
      heads: 2,
      kvHeads: 1,
      headDim: 8,
      maxPositions: 32,
      eosTokenIds: [1],
    },
  });
  await writeFile(at('model/tokenizer.json'), '{}');
});
afterEach(() => rm(root, { recursive: true }));

async function flip(file: string, place: number): Promise<void> {
  const bytes = await readFile(file);
  const at = Math.floor(bytes.length * place);
  bytes[at]! ^= 1 << (at % 8);
  await writeFile(file, bytes);
}

describe('a checkpoint with a changed bit', () => {
  it.each(['config.json', 'tokenizer.json', 'model.safetensors'])(
    'is no model to start from: %s',
    async (name) => {
      await writeManifest(at('model'), { step: 4, final: false });
      for (const place of [0, 0.3, 0.7, 0.999]) {
        await flip(at(`model/${name}`), place);
        for (const open of [loadModelFolder, openCriticFolder])
          await expect(open(at('model'))).rejects.toMatchObject({ name: 'CheckpointError' });
        await expect(convertModel({ from: at('model'), to: at('out') })).rejects.toThrow(name);
        await flip(at(`model/${name}`), place);
      }
      await loadModelFolder(at('model'));
    },
  );

  it('is no model to check', async () => {
    await writeManifest(at('model'), { step: 4, final: false });
    await flip(at('model/config.json'), 0.5);
    await expect(checkModel({ modelPath: at('model') })).rejects.toThrow('differs from its digest');
  });

  it('is no adapter to start from', async () => {
    const { config } = await loadModelFolder(at('model'));
    const plan = planAdapters(config, { rank: 2, alpha: 4 });
    const { size = 0, offset = 0 } = adapterSpecs(adapterTargets(config, plan)).at(-1) ?? {};
    const flat = new Float32Array(offset + size).fill(0.01);
    await saveAdapters(at('saved/lora_adapter'), { config, plan, flat, baseModel: at('model') });
    await writeManifest(at('saved'), { step: 4, final: false });
    const adapter = at('saved/lora_adapter');
    for (const name of ['adapter_config.json', 'adapter_model.safetensors']) {
      await flip(join(adapter, name), 0.9);
      const merge = convertModel({ from: at('model'), to: at('out'), adapter });
      await expect(merge).rejects.toThrow(`lora_adapter/${name} differs from its digest`);
      await flip(join(adapter, name), 0.9);
    }
    await convertModel({ from: at('model'), to: at('out'), adapter });
  });
});

const largest = (values: Float32Array): number =>
  values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

describe('convertModel', () => {
  it.each([
    ['float32', 0],
    ['bfloat16', 2 ** -9],
    ['float16', 2 ** -11],
  ] as const)('writes %s, in shards, with the rest of the folder', async (dtype, error) => {
    const before = await loadModelFolder(at('model'));
    const converted = await convertModel({
      from: at('model'),
      to: at('new'),
      dtype,
      shardBytes: 4000,
    });
    const after = await loadModelFolder(at('new'));
    const difference = after.weights.map((value, i) => value - (before.weights[i] ?? 0));
    expect(largest(difference)).toBeLessThanOrEqual(error * largest(before.weights));
    expect(after.companions).toEqual(before.companions);
    expect(JSON.parse(after.configText)).toEqual({
      ...(JSON.parse(before.configText) as object),
      torch_dtype: dtype,
    });
    expect(converted.files.length).toBeGreaterThan(1);
    expect(await readdir(at('new'))).toEqual(
      [
        ...converted.files,
        'config.json',
        'model.safetensors.index.json',
        'tokenizer.json',
      ].toSorted(),
    );
    for (const file of converted.files)
      expect((await stat(at(`new/${file}`))).size).toBeLessThan(5000);
    const index = JSON.parse(await readFile(at('new/model.safetensors.index.json'), 'utf8')) as {
      metadata: { total_size: number };
    };
    expect(index.metadata.total_size).toBe(after.weights.length * (dtype === 'float32' ? 4 : 2));
  });

  it('writes a GGUF file as a folder', async () => {
    const from = new URL('../test/fixtures/llama/model.gguf', import.meta.url).pathname;
    await convertModel({ from, to: at('folder'), dtype: 'float16' });
    const [file, folder] = [await loadModelFolder(from), await loadModelFolder(at('folder'))];
    expect(folder.config).toEqual(file.config);
    expect([...folder.companions.keys()]).toEqual([...file.companions.keys()]);
    const difference = folder.weights.map((value, i) => value - (file.weights[i] ?? 0));
    expect(largest(difference)).toBeLessThanOrEqual(2 ** -11 * largest(file.weights));
    expect(JSON.parse(folder.configText)).toMatchObject({ dtype: 'float16' });
  });

  it('merges an adapter: W + alpha / rank B A', async () => {
    const { config, weights } = await loadModelFolder(at('model'));
    const plan = planAdapters(config, { rank: 2, alpha: 6 });
    const targets = adapterTargets(config, plan);
    const size = adapterSpecs(targets).reduce((sum, spec) => sum + spec.size, 0);
    const flat = new Float32Array(normals(createRandom(5), size));
    await saveAdapters(at('adapter'), { config, plan, flat, baseModel: at('model') });
    await convertModel({ from: at('model'), to: at('merged'), adapter: at('adapter') });
    const merged = (await loadModelFolder(at('merged'))).weights;
    for (const { weight, a, b } of targets) {
      const [rows = 0, columns = 0] = weight.shape;
      for (let i = 0; i < rows * columns; i += 7) {
        const [row, column] = [Math.floor(i / columns), i % columns];
        let change = 0;
        for (let r = 0; r < plan.rank; r++)
          change +=
            (flat[b.offset + row * plan.rank + r] ?? 0) *
            (flat[a.offset + r * columns + column] ?? 0);
        const expected = (weights[weight.offset + i] ?? 0) + adapterScale(plan) * change;
        expect(merged[weight.offset + i]).toBeCloseTo(expected, 4);
      }
    }
  });

  it('leaves nothing behind when it is stopped', async () => {
    const reason = new Error('stopped');
    const early = { from: at('missing'), to: at('stopped'), signal: AbortSignal.abort(reason) };
    await expect(convertModel(early)).rejects.toBe(reason);
    for (const after of [1, 5]) {
      const { signal } = new AbortController();
      let checks = 0;
      signal.throwIfAborted = () => {
        if (++checks >= after) throw reason;
      };
      const options = { from: at('model'), to: at('stopped'), signal };
      await expect(convertModel(options)).rejects.toBe(reason);
      expect(await readdir(root)).toEqual(['model']);
    }
  });

  it('writes nothing over files, and no weight that the format cannot hold', async () => {
    await expect(convertModel({ from: at('model'), to: at('model') })).rejects.toThrow(
      /model is not empty: it holds config\.json\. Name a folder that does not exist\.$/,
    );
    const { weights, ...files } = await loadModelFolder(at('model'));
    weights[5] = 70_000;
    await saveModelFolder(at('huge'), files, weights);
    await expect(
      convertModel({ from: at('huge'), to: at('half'), dtype: 'float16' }),
    ).rejects.toThrow(/ is 70000, and F16 ends at 65519\. Use bfloat16 or float32\.$/);
    expect(await readdir(root)).toEqual(['huge', 'model']);
  });
});

describe('float16', () => {
  const encode = (value: number): number =>
    Buffer.from(encodeFloats(new Float32Array([value]), 'F16')).readUInt16LE();

  it('gives back every number that it can hold', () => {
    const numbers = Array.from({ length: 0x10000 }, (_, bits) => bits).filter(
      (bits) => !Number.isNaN(numberOfHalf(bits)),
    );
    expect(numbers.map((bits) => encode(numberOfHalf(bits)))).toEqual(numbers);
  });

  it('rounds to the nearest, ties to even', () => {
    expect([1 + 2 ** -11, 1 + 3 * 2 ** -11, 2047.5, 2 ** -25, 3 * 2 ** -25].map(encode)).toEqual([
      0x3c00, 0x3c02, 0x6800, 0, 2,
    ]);
    expect([65_519, 65_520, -1e30, Number.NaN].map(encode)).toEqual([
      0x7bff, 0x7c00, 0xfc00, 0x7e00,
    ]);
  });
});
