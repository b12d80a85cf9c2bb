/** Tests the engine with adapters on quantised weights, behind its protocol. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

import { CheckpointError, ConfigError } from '@trinity-rft/core';
import type { Engine, Quantization, TokenRow } from '@trinity-rft/core/engine';
import { describeEngine } from '@trinity-rft/testing';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { createEngineInThread } from '../../test/support/engine.js';
import { writeRandomGguf } from '../../test/support/gguf.js';
import { checkModel } from '../check-model.js';
import { convertModel } from '../convert.js';
import type { OnnxEngineOptions } from '../protocol/options.js';
import { writeSafetensors } from '../storage/safetensors.js';
import { createModelFolder } from '../storage/new-model.js';
import { openMergedWeights } from './merged-weights.js';

const root = mkdtempSync(join(tmpdir(), 'quantized-'));
const modelPath = join(root, 'model');
const gguf = (name: string): string => join(root, `${name}.gguf`);

/** Format of a matrix in a mixed file, by its name: 6 or 4 bits. */
const mixed = (name: string): string => (/token_embd|ffn_down|attn_v/.test(name) ? 'Q6_K' : 'Q4_K');

interface Model {
  readonly name: string;
  readonly quantization: Quantization;
  readonly path: string;
}
const models: readonly Model[] = [
  { name: 'int8', quantization: 'int8', path: modelPath },
  { name: 'int4', quantization: 'int4', path: modelPath },
  ...['Q8_0', 'Q4_0', 'Q4_K_M', 'F16 head'].map((name) => ({
    name,
    quantization: 'file' as const,
    path: gguf(name),
  })),
];
beforeAll(async () => {
  await createModelFolder({
    directory: modelPath,
    seed: 3,
    initializerRange: 0.15,
    config: { vocabSize: 96, hiddenSize: 96, layers: 2, heads: 4, kvHeads: 2, maxPositions: 256 },
  });
  for (const name of ['Q8_0', 'Q4_0']) writeRandomGguf(gguf(name), () => name);
  writeRandomGguf(gguf('Q4_K_M'), mixed);
  writeRandomGguf(gguf('F16 head'), (name) => (name === 'token_embd.weight' ? 'F16' : 'Q8_0'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const lora = { rank: 12, alpha: 24, seed: 1 };
describeEngine('engine-onnx with quantised weights', {
  open: () =>
    createEngineInThread({ modelPath, threads: 1, reference: true, lora, quantization: 'int8' }),
  vocabSize: 96,
  // A change of a weight in its last bit may change to which integer a number is rounded.
  tolerance: 1e-3,
});

const opened: Engine[] = [];
afterEach(() => Promise.all(opened.splice(0).map((engine) => engine.close())));

async function open(options: Partial<OnnxEngineOptions> = {}): Promise<Engine> {
  const engine = await createEngineInThread({
    modelPath,
    threads: 2,
    lora,
    quantization: 'int8',
    ...options,
  });
  opened.push(engine);
  return engine;
}
const openModel = ({ path, quantization }: Model): Promise<Engine> =>
  open({ modelPath: path, quantization, reference: true });

const prompt = Int32Array.of(5, 1, 2, 3);
const row = (tokens: Int32Array, after: Int32Array = prompt): TokenRow => ({
  tokens: Int32Array.of(...after, ...tokens),
  promptLength: after.length,
  temperature: 1,
});
interface Request {
  readonly tokens: Int32Array;
  readonly n: number;
  readonly maxTokens: number;
}
const batch = {
  rows: Array.from({ length: 4 }, (_, i) =>
    row(Int32Array.from({ length: 12 }, (__, t) => (7 * i + 5 * t) % 96)),
  ),
};

async function train({ trainer }: Engine, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    const pass = await trainer.forward(batch);
    await trainer.backward(pass, { logprobs: pass.logprobs.map((_, at) => Math.sin(at + i)) });
    await trainer.step({ learningRate: 1e-2 });
  }
}

async function adopt({ trainer, sampler }: Engine, version = 1): Promise<void> {
  await trainer.publish(version);
  await sampler.adopt({ kind: 'published' }, version);
}

const logprobsOf = async ({ trainer }: Engine): Promise<Float32Array> =>
  (await trainer.forward(batch)).logprobs;
const referenceOf = async ({ trainer }: Engine): Promise<Float32Array> =>
  (await trainer.forward(batch, { weights: 'reference' })).logprobs;

describe.each(['granitemoehybrid', 'phi3-longrope'])('%s in int8', (family) => {
  test('samples what it scores, and learns', async () => {
    const path = new URL(`../../test/fixtures/${family}`, import.meta.url).pathname;
    const engine = await open({ modelPath: path });
    await adopt(engine, 0);
    const start = Int32Array.of(5, 2, 3);
    const [sample] = await engine.sampler.sample(start, { n: 1, maxTokens: 20, seed: 1 });
    const { tokens = new Int32Array(), logprobs } = sample ?? {};
    const rows = [
      { tokens: Int32Array.of(...start, ...tokens), promptLength: start.length, temperature: 1 },
    ];
    const pass = await engine.trainer.forward({ rows });
    expect(pass.logprobs).toEqual(logprobs);
    await engine.trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1) });
    await engine.trainer.step({ learningRate: 1e-2 });
    const sum = (numbers: Float32Array): number => numbers.reduce((a, b) => a + b, 0);
    const after = await engine.trainer.forward({ rows });
    expect(sum(after.logprobs)).toBeGreaterThan(sum(pass.logprobs));
  });
});

describe.each(models)('$name', (model) => {
  test('samples what it scores, bit for bit, in any company', async () => {
    const engine = await openModel(model);
    await train(engine, 2);
    await adopt(engine);
    const [short] = await engine.sampler.sample(prompt, { maxTokens: 1, n: 1, seed: 4 });
    const only = { rows: [row(short!.tokens)] };
    expect([...(await engine.trainer.forward(only)).logprobs]).toEqual([...short!.logprobs]);
    expect([...(await engine.sampler.score!(only.rows[0]!))]).toEqual([...short!.logprobs]);
    const alone: (readonly number[])[] = [];
    for (const n of [1, 8, 32]) {
      const sampled = await engine.sampler.sample(prompt, { maxTokens: 64, n, seed: 4 });
      const { logprobs } = await engine.trainer.forward({
        rows: sampled.map(({ tokens }) => row(tokens)),
      });
      expect([...logprobs]).toEqual(sampled.flatMap((sequence) => [...sequence.logprobs]));
      alone.push([...(sampled[0]?.logprobs ?? [])]);
      const one = await engine.sampler.score!(row(sampled.at(-1)!.tokens));
      expect([...one]).toEqual([...sampled.at(-1)!.logprobs]);
    }
    expect(alone[1]).toEqual(alone[0]);
    expect(alone[2]).toEqual(alone[0]);
  });

  test('samples what it scores, whatever is sampled at once', async () => {
    const engine = await openModel(model);
    await train(engine, 1);
    await adopt(engine);
    const check = async (requests: readonly Request[]): Promise<void> => {
      const sampled = await Promise.all(
        requests.map(({ tokens, n, maxTokens }, seed) =>
          engine.sampler.sample(tokens, { n, maxTokens, seed }),
        ),
      );
      const rows = sampled.flatMap((answers, i) =>
        answers.map(({ tokens }) => row(tokens, requests[i]!.tokens)),
      );
      const expected = sampled.flat().flatMap(({ logprobs }) => [...logprobs]);
      expect([...(await engine.trainer.forward({ rows })).logprobs]).toEqual(expected);
    };
    const same = (length: number, requests: number, n = 1): readonly Request[] =>
      Array.from({ length: requests }, (_, i) => ({
        tokens: Int32Array.from({ length }, (__, t) => (5 * t + 11 * i + 1) % 96),
        n,
        maxTokens: 3,
      }));
    // Prompts that are read in 129 and 257 rows, and 17 and 129 answers.
    for (const given of [same(33, 4), same(129, 2), same(4, 1, 17), same(4, 1, 129)])
      await check(given);
    const length = fc.integer({ min: 1, max: 140 });
    const request = fc.record({
      tokens: length.map((count) => same(count, 1)[0]!.tokens),
      n: fc.integer({ min: 1, max: 9 }),
      maxTokens: fc.integer({ min: 1, max: 4 }),
    });
    const requests = fc.array(request, { minLength: 1, maxLength: 12 });
    await fc.assert(fc.asyncProperty(requests, check), { numRuns: 5 });
  });

  test('differs from its reference by nothing until it has learned', async () => {
    const engine = await openModel(model);
    const before = await logprobsOf(engine);
    expect(await referenceOf(engine)).toEqual(before);
    await train(engine, 2);
    expect(await referenceOf(engine)).toEqual(before);
    expect(await logprobsOf(engine)).not.toEqual(before);
  });
});

test.each([
  ['lfm2/', 'int8'],
  ['qwen3_5_text/', 'int8'],
  ['gemma4_text/', 'int8'],
  ['gemma4_text/model.gguf', 'file'],
] as const)(
  'a model of %s in %s samples what it scores, and learns',
  async (name, quantization) => {
    const modelPath = new URL(`../../test/fixtures/${name}`, import.meta.url).pathname;
    const engine = await open({ modelPath, quantization });
    const losses = [];
    for (let step = 0; step < 20; step++) {
      await adopt(engine, step);
      const sampled = await engine.sampler.sample(prompt, { maxTokens: 24, n: 4, seed: step });
      const pass = await engine.trainer.forward({ rows: sampled.map(({ tokens }) => row(tokens)) });
      expect([...pass.logprobs]).toEqual(sampled.flatMap(({ logprobs }) => [...logprobs]));
      const known = { rows: [row(Int32Array.of(7, 8, 9, 10, 11, 12))] };
      const { logprobs } = await engine.trainer.forward(known);
      losses.push(-logprobs.reduce((sum, value) => sum + value, 0));
      await engine.trainer.backward(await engine.trainer.forward(known), {
        logprobs: logprobs.map(() => -1),
      });
      await engine.trainer.step({ learningRate: 1e-2 });
    }
    expect(losses.at(-1)).toBeLessThan(0.5 * losses[0]!);
  },
);

test('threads change no bit, whether the prompt is one token or several', async () => {
  const found = [];
  const [learned, directory] = [await open(), join(root, 'learned')];
  await train(learned, 2);
  await learned.trainer.save(directory, { optimizer: false });
  for (const threads of [1, 2, 3]) {
    const engine = await open({ threads });
    await engine.sampler.adopt({ kind: 'checkpoint', directory }, 1);
    const short = await engine.sampler.sample(Int32Array.of(7), { maxTokens: 8, n: 3, seed: 1 });
    const options = { maxTokens: 20, n: 3, seed: 1, topLogprobs: 2, topK: 9 };
    const long = await engine.sampler.sample(prompt, options);
    found.push([short, long]);
  }
  expect(found[1]).toEqual(found[0]);
  expect(found[2]).toEqual(found[0]);
});

test('a loss whose gradient is known beforehand reports what is scored', async () => {
  const engine = await open();
  const { logprobs } = await engine.trainer.forward(batch, { entropy: true, necs: true });
  const advantages = new Float32Array(logprobs.length).fill(1);
  const pass = await engine.trainer.forwardBackward!(batch, {
    name: 'linear',
    advantages,
    oldLogprobs: logprobs,
  });
  expect(pass.logprobs).toEqual(logprobs);
  expect(await engine.trainer.step({ learningRate: 1e-2 })).toMatchObject({ skipped: false });
});

async function bytesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const read = async (file: string) =>
    [file.slice(folder.length), await readFile(file, 'base64')] as const;
  return new Map(await Promise.all(files.toSorted().map(read)));
}

describe.each(models.filter(({ name }) => name === 'int8' || name === 'Q4_K_M'))(
  'a checkpoint of $name',
  (model) => {
    const folder = (name: string): string => join(root, `${model.name} ${name}`);

    test('holds the adapters, and resumes to the same bytes', async () => {
      const one = await openModel(model);
      await train(one, 3);
      await one.trainer.save(folder('half'), { optimizer: true });
      await train(one, 2);
      await one.trainer.save(folder('whole'), { optimizer: true });
      const two = await openModel(model);
      await train(two, 1);
      await two.trainer.load(folder('half'));
      await train(two, 2);
      await two.trainer.save(folder('end'), { optimizer: true });
      const whole = await bytesOf(folder('whole'));
      expect(await bytesOf(folder('end'))).toEqual(whole);
      expect([...whole.keys()].filter((name) => name.endsWith('.safetensors'))).toEqual([
        '/lora_adapter/adapter_model.safetensors',
        '/lora_adapter/optimizer/moments.safetensors',
      ]);
    });

    test('is opened as a model that samples the same', async () => {
      const engine = await openModel(model);
      await train(engine, 2);
      await engine.trainer.save(folder('model'), { optimizer: false });
      await adopt(engine);
      const { sampler } = engine;
      const sampled = await sampler.sample(prompt, { maxTokens: 12, n: 2, seed: 1 });
      await checkModel({ modelPath: folder('model') });
      const saved = await createEngineInThread({ modelPath: folder('model'), threads: 2 });
      opened.push(saved);
      await adopt(saved);
      expect(await saved.sampler.sample(prompt, { maxTokens: 12, n: 2, seed: 1 })).toEqual(sampled);
      const third = await openModel(model);
      await third.sampler.adopt({ kind: 'checkpoint', directory: folder('model') }, 1);
      expect(await third.sampler.sample(prompt, { maxTokens: 12, n: 2, seed: 1 })).toEqual(sampled);
    });

    test('is trained further, beside a reference that is the checkpoint', async () => {
      const first = await openModel(model);
      await train(first, 3);
      const start = await logprobsOf(first);
      await first.trainer.save(folder('first'), { optimizer: false });
      const next = await open({
        modelPath: folder('first'),
        quantization: undefined,
        reference: true,
      });
      expect(await logprobsOf(next)).toEqual(start);
      await train(next, 1);
      expect(await logprobsOf(next)).not.toEqual(start);
      expect(await referenceOf(next)).toEqual(start);
      await next.trainer.save(folder('next'), { optimizer: true });
      const resumed = await open({ modelPath: folder('first'), quantization: model.quantization });
      await resumed.trainer.load(folder('next'));
      expect(await logprobsOf(resumed)).toEqual(await logprobsOf(next));
    });

    test('is not trained further in another form', async () => {
      const engine = await openModel(model);
      await engine.trainer.save(folder('form'), { optimizer: false });
      const modelPath = folder('form');
      await expect(open({ modelPath, quantization: 'int4' })).rejects.toThrow(
        `trained beside weights in ${model.quantization}`,
      );
      const wider = { ...lora, rank: lora.rank + 1 };
      await expect(open({ modelPath, quantization: undefined, lora: wider })).rejects.toThrow(
        /holds adapters of rank 12, .* trains adapters of rank 13/,
      );
    });

    test('is refused by another base, and where its adapters would be merged', async () => {
      const engine = await openModel(model);
      await engine.trainer.save(folder('refused'), { optimizer: false });
      const other = await open({ quantization: 'int4' });
      await expect(other.trainer.load(folder('refused'))).rejects.toThrow(
        model.name === 'int8' ? /model.quantization: int8/ : CheckpointError,
      );
      const merging = convertModel({ from: folder('refused'), to: folder('merged') });
      await expect(merging).rejects.toMatchObject({ code: 'ADAPTER_BESIDE_QUANTIZED' });
    });

    test('is refused over other weights than those that it was trained on', async () => {
      const engine = await openModel(model);
      await engine.trainer.save(folder('moved'), { optimizer: false });
      const other = `${folder('other')}${extname(model.path)}`;
      await cp(model.path, other, { recursive: true });
      const file = extname(other) === '' ? join(other, 'model.safetensors') : other;
      const bytes = await readFile(file);
      bytes[bytes.length - 200]! ^= 0x80;
      await writeFile(file, bytes);
      const config = join(folder('moved'), 'lora_adapter', 'adapter_config.json');
      await writeFile(config, (await readFile(config, 'utf8')).replace(model.path, other));
      const refusal = {
        code: 'CHECKPOINT_OTHER_ADAPTERS',
        message: expect.stringContaining('belongs to another model'),
      };
      await expect(
        createEngineInThread({ modelPath: folder('moved'), threads: 1 }),
      ).rejects.toMatchObject(refusal);
      const merged = await openMergedWeights(folder('moved'));
      await expect(merged.read('model.norm.weight')).rejects.toMatchObject(refusal);
      await merged.close();
    });

    test('is read with its adapter merged into the numbers of the weights', async () => {
      const engine = await openModel(model);
      await train(engine, 2);
      const trained = await logprobsOf(engine);
      await engine.trainer.save(folder('numbers'), { optimizer: false });
      const merged = await openMergedWeights(folder('numbers'));
      expect(merged.beside).toEqual({ quantization: model.quantization, model: model.path });
      const tensors = await Promise.all(
        [...merged.tensors].map(async ([name, { shape }]) => ({
          name,
          shape,
          data: await merged.read(name),
        })),
      );
      for (const { name, shape, data } of tensors) {
        const most = name.includes('_proj') ? data.length : Math.max(200, shape[1] ?? 1);
        const found = new Float32Array(data.length);
        let at = 0;
        for await (const part of merged.readParts(name, 200)) {
          expect(part.length).toBeLessThanOrEqual(most);
          found.set(part, at);
          at += part.length;
        }
        expect(found).toEqual(data);
      }
      await merged.close();
      const file = join(folder('numbers'), 'model.safetensors');
      await rm(join(folder('numbers'), 'lora_adapter'), { recursive: true });
      await writeSafetensors(file, tensors);
      const other = await open({ modelPath: folder('numbers'), quantization: undefined });
      const [base, found] = [await referenceOf(engine), await logprobsOf(other)];
      const distance = (a: Float32Array): number =>
        a.reduce((sum, value, i) => sum + Math.abs(value - found[i]!), 0) / a.length;
      // Scores of the first round activations.
      expect(distance(trained)).toBeLessThan(0.1);
      expect(distance(base)).toBeGreaterThan(3 * distance(trained));
    });
  },
);

describe('options that do not fit', () => {
  test('name the reason', async () => {
    await expect(open({ lora: undefined })).rejects.toThrow(ConfigError);
    await expect(open({ quantization: 'file' })).rejects.toMatchObject({
      code: 'QUANTIZATION_NOT_IN_FILE',
    });
    await expect(open({ runtime: 'file:///none.js' })).rejects.toMatchObject({
      code: 'ENGINE_QUANTIZED_DEVICE',
    });
  });
});

test('removes the weights of processes that were killed while they loaded a model', async () => {
  const { pid } = spawnSync(process.execPath, ['--version'], {
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  const at = (id: number, name: string): string => join(tmpdir(), `trinity-weights-${id}-${name}`);
  const [old, sameId, fresh] = [at(pid, 'old'), at(process.pid, 'old'), at(pid, 'new')];
  for (const folder of [old, sameId, fresh]) await mkdir(folder);
  const hourAgo = new Date(Date.now() - 3_600_000);
  for (const folder of [old, sameId]) await utimes(folder, hourAgo, hourAgo);
  // Cannot be read as a folder; a load must not fail for it.
  const file = at(pid, 'file');
  await symlink(join(root, 'nowhere'), file);
  try {
    await (await open()).sampler.sample(prompt, { maxTokens: 1, seed: 1 });
    expect([old, sameId, fresh].map((folder) => existsSync(folder))).toEqual([false, false, true]);
  } finally {
    await rm(fresh, { recursive: true });
    await rm(file);
  }
});
