/** The engine with adapters, behind its protocol. */
import { mkdtempSync, rmSync } from 'node:fs';
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CheckpointError, EngineError } from '@trinity-rft/core';
import type { Engine, TokenBatch } from '@trinity-rft/core/engine';
import { describeEngine } from '@trinity-rft/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { createEngineInThread } from '../../test/support/engine.js';
import { checkModel } from '../check-model.js';
import { convertModel } from '../convert.js';
import type { OnnxEngineOptions } from '../protocol/options.js';
import { openMergedWeights, openWeights } from '../index.js';
import { parameterSpecs } from '../model/parameters.js';
import { loadModelFolder, saveModelFolder } from '../storage/model-folder.js';
import { createModelFolder } from '../storage/new-model.js';

const root = mkdtempSync(join(tmpdir(), 'lora-'));
const [modelPath, otherModel] = [join(root, 'model'), join(root, 'other')];
const config = {
  vocabSize: 32,
  hiddenSize: 32,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  maxPositions: 128,
};
beforeAll(async () => {
  await createModelFolder({ directory: modelPath, seed: 3, initializerRange: 0.15, config });
  await createModelFolder({ directory: otherModel, seed: 4, initializerRange: 0.15, config });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const lora = { rank: 4, alpha: 8, seed: 1 };
const common = { modelPath, threads: 1, maxModelLen: 64 };
describeEngine('engine-onnx with adapters', {
  open: () => createEngineInThread({ ...common, reference: true, lora }),
  vocabSize: 32,
});

const opened: Engine[] = [];
afterEach(() => Promise.all(opened.splice(0).map((engine) => engine.close())));

async function open(options: Partial<OnnxEngineOptions> = {}): Promise<Engine> {
  const engine = await createEngineInThread({ ...common, lora, ...options });
  opened.push(engine);
  return engine;
}

let folders = 0;
const newFolder = (): string => join(root, `folder ${folders++}`);

const prompt = Int32Array.of(1, 2, 3);
const batch: TokenBatch = {
  rows: Array.from({ length: 4 }, (_, i) => ({
    tokens: Int32Array.from({ length: 12 }, (__, t) => (7 * i + t) % 32),
    promptLength: 3,
    temperature: 1,
  })),
};

async function train({ trainer }: Engine, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    const pass = await trainer.forward(batch);
    await trainer.backward(pass, { logprobs: pass.logprobs.map((_, at) => Math.sin(at + i)) });
    await trainer.step({ learningRate: 1e-2 });
  }
}

const logprobsOf = async ({ trainer }: Engine): Promise<Float32Array> =>
  (await trainer.forward(batch)).logprobs;

async function bytesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    await Promise.all(
      files
        .toSorted()
        .map(async (file) => [file.slice(folder.length), await readFile(file, 'base64')] as const),
    ),
  );
}

describe('the sampler', () => {
  test('reports the bits that the trainer computes after steps', async () => {
    const engine = await open();
    await train(engine, 4);
    await engine.trainer.publish(1);
    await engine.sampler.adopt({ kind: 'published' }, 1);
    const sampled = await engine.sampler.sample(prompt, { maxTokens: 20, n: 6, seed: 3 });
    const rows = sampled.map(({ tokens }) => ({
      tokens: Int32Array.of(...prompt, ...tokens),
      promptLength: 3,
      temperature: 1,
    }));
    const { logprobs } = await engine.trainer.forward({ rows });
    expect([...logprobs]).toEqual(sampled.flatMap((sequence) => [...sequence.logprobs]));
  });

  test('side by side in threads, and from a checkpoint, samples the same', async () => {
    const engine = await open();
    await train(engine, 2);
    const folder = newFolder();
    await engine.trainer.save(folder, { optimizer: false });
    await engine.trainer.publish(1);
    await engine.sampler.adopt({ kind: 'published' }, 1);
    const published = await engine.sampler.sample(prompt, { maxTokens: 20, n: 3, seed: 3 });
    const others = [
      await open({ threads: 3 }),
      await open(),
      await createEngineInThread({ ...common, modelPath: folder }),
    ];
    opened.push(others[2]!);
    for (const other of others.slice(0, 2))
      await other.sampler.adopt({ kind: 'checkpoint', directory: folder }, 1);
    await others[2]!.trainer.publish(1);
    await others[2]!.sampler.adopt({ kind: 'published' }, 1);
    for (const other of others)
      expect(await other.sampler.sample(prompt, { maxTokens: 20, n: 3, seed: 3 })).toEqual(
        published,
      );
  });
});

describe('the reference', () => {
  test('is the model without adapters, also when it began with some', async () => {
    const plain = await createEngineInThread(common);
    opened.push(plain);
    const [before, first] = [await logprobsOf(plain), await open({ reference: true })];
    const reference = async ({ trainer }: Engine) =>
      (await trainer.forward(batch, { weights: 'reference' })).logprobs;
    expect(await logprobsOf(first)).toEqual(before);
    await train(first, 2);
    expect(await reference(first)).toEqual(before);
    expect(await logprobsOf(first)).not.toEqual(before);
    const folder = newFolder();
    await first.trainer.save(folder, { optimizer: false });
    const second = await open({ reference: true, lora: { path: join(folder, 'lora_adapter') } });
    expect(await reference(second)).toEqual(before);
    expect(await logprobsOf(second)).toEqual(await logprobsOf(first));
  });
});

describe('a checkpoint', () => {
  const [lfm2, gemma4] = ['lfm2', 'gemma4_text'].map(
    (name) => new URL(`../../test/fixtures/${name}/`, import.meta.url).pathname,
  );
  const ownWeights = ['/config.json', '/model.safetensors', '/optimizer/moments.safetensors'];
  const adapters = [
    '/config.json',
    '/lora_adapter/adapter_config.json',
    '/lora_adapter/adapter_model.safetensors',
    '/lora_adapter/base_model.json',
    '/lora_adapter/optimizer/moments.safetensors',
    '/model.safetensors',
  ];
  test.each<[string, Partial<OnnxEngineOptions>, readonly string[]]>([
    ['adapters', {}, adapters],
    ['adapters of LFM2', { modelPath: lfm2 }, adapters],
    ['all weights of LFM2', { modelPath: lfm2, lora: undefined }, ownWeights],
    ['adapters of Gemma 4', { modelPath: gemma4 }, adapters],
    ['all weights of Gemma 4', { modelPath: gemma4, lora: undefined }, ownWeights],
  ])(
    'of %s resumes to the same bytes as a run that was never stopped',
    async (_, options, files) => {
      const [whole, half, end, again] = [newFolder(), newFolder(), newFolder(), newFolder()];
      const one = await open(options);
      await train(one, 3);
      await one.trainer.save(half, { optimizer: true });
      await train(one, 2);
      await one.trainer.save(whole, { optimizer: true });
      const two = await open(options);
      await train(two, 1);
      await two.trainer.load(half);
      await two.trainer.save(again, { optimizer: true });
      expect(await bytesOf(again)).toEqual(await bytesOf(half));
      await train(two, 2);
      await two.trainer.save(end, { optimizer: true });
      expect(await bytesOf(end)).toEqual(await bytesOf(whole));
      expect([...(await bytesOf(whole)).keys()]).toEqual(files);
    },
  );

  test('holds the base where nothing is adapted, and a step from fresh moments where none were saved', async () => {
    const engine = await open({ lora: { ...lora, targetModules: ['v_proj'] } });
    await train(engine, 2);
    const folder = newFolder();
    await engine.trainer.save(folder, { optimizer: false });
    const [saved, base] = [await loadModelFolder(folder), await loadModelFolder(modelPath)];
    expect(saved.weights.filter((x, i) => x !== base.weights[i]).length).toBe(2 * 16 * 32);
    await engine.trainer.load(folder);
    expect(await engine.trainer.step({ learningRate: 0, weightDecay: 0 })).toMatchObject({
      step: 1,
    });
  });

  test('is the merged model to an engine that trains all weights, which begins with fresh moments', async () => {
    const engine = await open();
    await train(engine, 2);
    const folder = newFolder();
    await engine.trainer.save(folder, { optimizer: true });
    const plain = await createEngineInThread({ ...common, modelPath: otherModel });
    opened.push(plain);
    await plain.trainer.load(folder);
    expect(await logprobsOf(plain)).toEqual(await logprobsOf(engine));
    expect(await plain.trainer.step({ learningRate: 1e-3 })).toMatchObject({ step: 1 });
    await plain.trainer.save(folder, { optimizer: true });
    expect(await readdir(folder)).not.toContain('lora_adapter');
  });

  test('of other adapters, another base or all weights is rejected', async () => {
    const [mine, plainFolder] = [newFolder(), newFolder()];
    const engine = await open();
    await engine.trainer.save(mine, { optimizer: true });
    const wider = await open({ lora: { ...lora, rank: 8 } });
    await expect(wider.trainer.load(mine)).rejects.toThrow(
      'holds adapters of rank 4, alpha 8, q_proj',
    );
    const plain = await createEngineInThread(common);
    opened.push(plain);
    await plain.trainer.save(plainFolder, { optimizer: true });
    const rejected = engine.trainer.load(plainFolder);
    await expect(rejected).rejects.toBeInstanceOf(CheckpointError);
    await expect(rejected).rejects.toThrow(
      'has no lora_adapter: it was written by a run that trains all weights',
    );
  });

  test.each([{ merged: true }, { merged: false }])(
    'with merged weights: $merged, is rejected by a base that differs only where an adapter changes it',
    async ({ merged }) => {
      const [folder, changed] = [newFolder(), newFolder()];
      const engine = await open();
      await engine.trainer.save(folder, { optimizer: true, merged });
      const { weights, ...files } = await loadModelFolder(modelPath);
      for (const { name, offset, size } of parameterSpecs(files.config))
        if (name.endsWith('q_proj.weight'))
          weights.set(
            weights.subarray(offset, offset + size).map((x) => x + 1),
            offset,
          );
      await saveModelFolder(changed, files, weights);
      const other = await open({ modelPath: changed });
      await expect(other.trainer.load(folder)).rejects.toMatchObject({
        code: 'CHECKPOINT_OTHER_ADAPTERS',
        message: expect.stringContaining('belongs to another model: the weights'),
      });
    },
  );

  test('with merged weights of an earlier version, which has no record of its base, is compared where nothing is adapted', async () => {
    const folder = newFolder();
    const engine = await open();
    await train(engine, 2);
    await engine.trainer.save(folder, { optimizer: true });
    await rm(join(folder, 'lora_adapter', 'base_model.json'));
    const [same, elsewhere] = [await open(), await open({ modelPath: otherModel })];
    await same.trainer.load(folder);
    expect(await logprobsOf(same)).toEqual(await logprobsOf(engine));
    await expect(elsewhere.trainer.load(folder)).rejects.toThrow(
      'belongs to another model: its model.embed_tokens.weight differs',
    );
  });

  test('without merged weights continues to the same bits, and is opened as the merged model', async () => {
    const [alone, whole] = [newFolder(), newFolder()];
    const one = await open();
    await train(one, 3);
    await one.trainer.save(alone, { optimizer: true, merged: false });
    expect([...(await bytesOf(alone)).keys()]).toEqual([
      '/config.json',
      '/lora_adapter/adapter_config.json',
      '/lora_adapter/adapter_model.safetensors',
      '/lora_adapter/base_model.json',
      '/lora_adapter/optimizer/moments.safetensors',
    ]);
    await one.trainer.save(whole, { optimizer: true });
    const merged = await open({ modelPath: whole });
    expect(await logprobsOf(await open({ modelPath: alone }))).toEqual(await logprobsOf(merged));
    await checkModel({ modelPath: alone });
    const [read, written] = [await openMergedWeights(alone), await openWeights(whole)];
    const counts = new Map<string, number>();
    for (const name of written.tensors.keys()) {
      expect(await read.read(name)).toEqual(await written.read(name));
      const parts: (readonly number[])[] = [];
      for await (const part of read.readParts(name, 100)) parts.push([...part]);
      expect(parts.flat()).toEqual([...(await written.read(name))]);
      counts.set(name, parts.length);
    }
    expect(counts.get('model.embed_tokens.weight')).toBeGreaterThan(1);
    for (const weights of [read, written]) await weights.close();
    const converted = await convertModel({ from: alone, to: newFolder() });
    expect(converted.files).toEqual(['model.safetensors']);

    const two = await open();
    await two.trainer.load(alone);
    for (const engine of [one, two]) await train(engine, 2);
    const [end, again] = [newFolder(), newFolder()];
    await one.trainer.save(end, { optimizer: true });
    await two.trainer.save(again, { optimizer: true });
    expect(await bytesOf(again)).toEqual(await bytesOf(end));
  });

  test('without merged weights is sampled from, on the model that it belongs to alone', async () => {
    const [alone, whole] = [newFolder(), newFolder()];
    const one = await open();
    await train(one, 2);
    await one.trainer.save(alone, { optimizer: false, merged: false });
    await one.trainer.save(whole, { optimizer: false });
    const samples = async (engine: Engine, directory: string) => {
      await engine.sampler.adopt({ kind: 'checkpoint', directory }, 1);
      return engine.sampler.sample(prompt, { maxTokens: 20, n: 3, seed: 3 });
    };
    const expected = await samples(one, whole);
    const plain = await createEngineInThread(common);
    opened.push(plain);
    for (const engine of [await open({ threads: 3 }), await open(), plain])
      expect(await samples(engine, alone)).toEqual(expected);
    await plain.trainer.load(alone);
    expect(await logprobsOf(plain)).toEqual(await logprobsOf(one));
    const elsewhere = await open({ modelPath: otherModel });
    const differs =
      'belongs to another model: the weights that its adapters were trained on differ';
    await expect(elsewhere.trainer.load(alone)).rejects.toThrow(differs);
    await expect(samples(elsewhere, alone)).rejects.toThrow(differs);
    const config = join(alone, 'lora_adapter', 'adapter_config.json');
    const text = (await readFile(config, 'utf8')).replaceAll(modelPath, '/moved');
    await writeFile(config, text);
    await expect(samples(plain, alone)).rejects.toThrow('/moved, the model that it belongs to by');
    expect(await samples(await open(), alone)).toEqual(expected);
  });

  test('gives the same bytes in two runs', async () => {
    const [one, two] = [newFolder(), newFolder()];
    for (const folder of [one, two]) {
      const engine = await open();
      await train(engine, 3);
      await engine.trainer.save(folder, { optimizer: true });
    }
    expect(await bytesOf(one)).toEqual(await bytesOf(two));
  });
});

test('says that it trains adapters, and rejects those that do not fit the model', async () => {
  const engine = await open();
  expect(engine.capabilities.lora).toBe(true);
  const unknown = createEngineInThread({ ...common, lora: { ...lora, targetModules: ['c_attn'] } });
  await expect(unknown).rejects.toBeInstanceOf(EngineError);
  await expect(unknown).rejects.toThrow(
    '"c_attn" is not a layer that can get an adapter; expected all-linear, or some of q_proj',
  );
  const folder = newFolder();
  await cp(modelPath, folder, { recursive: true });
  await expect(createEngineInThread({ ...common, lora: { path: folder } })).rejects.toThrow(
    'adapter_config.json cannot be read',
  );
});
