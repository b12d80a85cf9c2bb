/** A real vLLM server beside the embedded engine, on the same weights. */
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadTokenizer } from '@trinity-rft/chat';
import { vocabularySample } from '@trinity-rft/chat/internal';
import { silentLogger, systemClock } from '@trinity-rft/core';
import type {
  Engine,
  RemoteSampler,
  SamplerOptions,
  SampledSequence,
  VocabularySample,
} from '@trinity-rft/core/engine';
import { createModelFolder, createOnnxEngine, type LoraOptions } from '@trinity-rft/engine-onnx';
import { openVllmSampler } from '@trinity-rft/engine-vllm';
import { describeEngine } from '@trinity-rft/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compositeEngine } from '../src/assembly/models/composite-engine.js';
import { createModel } from '../src/create-model.js';
import { findVllm, startVllm, type StartedVllm, vllmSizes } from './support/vllm.js';

const vocabSize = 64;
const maxModelLen = 224;
const tolerance = 1e-4;
const lora = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 3 } as const;
const root = path.join(tmpdir(), `trinity-vllm-${process.pid}`);
beforeAll(() => void mkdirSync(root, { recursive: true }));
const modelPath = path.join(root, 'model');
const servers: StartedVllm[] = [];
let missing = '';
let opened = 0;

const start = (python: string, port?: number): Promise<StartedVllm> => {
  const shared = { python, modelPath, folder: root, lora, tokenizer: false, port };
  return startVllm({ ...shared, maxModelLen: maxModelLen + 1 });
};
let restart: (port: number) => Promise<StartedVllm>;

beforeAll(async () => {
  await createModelFolder({
    directory: modelPath,
    seed: 3,
    initializerRange: 0.15,
    config: {
      vocabSize,
      hiddenSize: 64,
      layers: 2,
      heads: 2,
      kvHeads: 1,
      headDim: 32,
      maxPositions: 256,
      tieEmbeddings: false,
    },
  });
  const found = await findVllm();
  if ('missing' in found) {
    ({ missing } = found);
    return;
  }
  restart = (port) => start(found.python, port);
  servers.push(...(await Promise.all([start(found.python), start(found.python)])));
}, 2_400_000);

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(root, { recursive: true, force: true });
});

const openSampler = (options: Partial<SamplerOptions>): Promise<RemoteSampler> =>
  openVllmSampler({
    modelPath,
    servers: servers.slice(0, 1),
    maxModelLen,
    tolerance,
    timeoutMs: 120_000,
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });

const openTrainer = (adapters?: LoraOptions): Promise<Engine> =>
  createOnnxEngine({ modelPath, threads: 1, reference: true, maxModelLen, lora: adapters });

async function openComposite(options: Partial<SamplerOptions>): Promise<Engine> {
  const [engine, sampler] = await Promise.all([
    openTrainer(options.lora ? lora : undefined),
    openSampler(options),
  ]);
  return compositeEngine({
    engine,
    sampler,
    adapters: options.lora ?? false,
    folder: path.join(root, `weights-${++opened}`),
    probe: Int32Array.from({ length: 24 }, (_, i) => (i * 11) % vocabSize),
  });
}

const prompt = Int32Array.from([5, 17, 3, 42, 9, 33]);

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
});

const logprobsByTrainer = async (
  { trainer }: Engine,
  { tokens }: SampledSequence,
  temperature: number,
): Promise<number[]> => {
  const row = { tokens: Int32Array.of(...prompt, ...tokens), promptLength: prompt.length };
  return [...(await trainer.forward({ rows: [{ ...row, temperature }] })).logprobs];
};

const difference = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  a.length === b.length
    ? Math.max(...Array.from(a, (value, i) => Math.abs(value - (b[i] ?? NaN))))
    : Infinity;

describe('a real vLLM with adapters', { tags: ['external'], timeout: 600_000 }, () => {
  it('samples greedily the ids of the embedded sampler, with its log-probabilities', async () => {
    const engine = await openTrainer();
    const sampler = await openSampler({});
    const options = { maxTokens: 40, temperature: 0, seed: 1 };
    const [here] = await engine.sampler.sample(prompt, options);
    const [there] = await sampler.sample(prompt, options);
    expect([...there!.tokens]).toEqual([...here!.tokens]);
    expect(difference(there!.logprobs, here!.logprobs)).toBeLessThan(tolerance);
    await Promise.all([engine.close(), sampler.close()]);
  });

  it('reports the log-probabilities that the embedded engine computes, whatever the parameters', async () => {
    const engine = await openTrainer();
    const sampler = await openSampler({});
    const worst: number[] = [];
    for (const temperature of [1, 0.6, 1.7]) {
      const texts = await sampler.sample(prompt, { n: 4, maxTokens: 60, temperature, seed: 7 });
      for (const text of texts)
        worst.push(difference(text.logprobs, await logprobsByTrainer(engine, text, temperature)));
    }
    expect(Math.max(...worst)).toBeLessThan(tolerance);
    const row = { tokens: Int32Array.of(...prompt, 1, 2, 3), promptLength: 1, temperature: 1 };
    const scored = await sampler.score!(row);
    expect(difference(scored, (await engine.sampler.score!(row)) ?? [])).toBeLessThan(tolerance);
    await Promise.all([engine.close(), sampler.close()]);
  });

  it('reports tokens as it draws them, which are those of the whole answer', async () => {
    const sampler = await openSampler({});
    const told: number[][] = [[], []];
    let calls = 0;
    const options = { n: 2, maxTokens: 60, seed: 7 };
    const texts = await sampler.sample(prompt, options, undefined, (choice, tokens) => {
      calls++;
      told[choice]!.push(...tokens);
    });
    expect(told).toEqual(texts.map(({ tokens }) => [...tokens]));
    expect(calls).toBeGreaterThan(60);
    const again = await sampler.sample(prompt, options);
    expect(texts.map(({ logprobs }) => [...logprobs])).toEqual(
      again.map(({ logprobs }) => [...logprobs]),
    );
    await sampler.close();
  });

  // vLLM closes a socket that was idle for five seconds: pauses at that edge are the ones that fail.
  it(
    'leaves no server out in 60 steps with pauses of 1 to 30 s',
    { timeout: 1_500_000 },
    async () => {
      const said: string[] = [];
      const logger = { ...silentLogger, warn: (text: string) => void said.push(text) };
      const engine = await openComposite({ servers: servers.slice(0, 2), lora: true, logger });
      const { trainer, sampler } = engine;
      const pauses = [1, 4.9, 4.97, 5, 5.03, 5.2, 8, 4.99, 5.01, 30];
      for (let step = 1; step <= 60; step++) {
        await trainer.publish(step);
        await sampler.adopt({ kind: 'published' }, step);
        const wanted = Array.from({ length: 8 }, (_, seed) =>
          sampler.sample(Int32Array.of(seed, ...prompt), { maxTokens: 8, seed }),
        );
        expect((await Promise.all(wanted)).flat()).toHaveLength(8);
        await systemClock.sleep(1000 * pauses[step % pauses.length]!);
      }
      expect(said.filter((text) => !text.includes('to start'))).toEqual([]);
      await engine.close();
    },
  );

  it('loses no text when one of two servers is killed, and brings it back with proved weights', async () => {
    const [first, second] = servers;
    const engine = await openComposite({ servers: servers.slice(0, 2), lora: true });
    const { trainer, sampler } = engine;
    await trainer.publish(1);
    await sampler.adopt({ kind: 'published' }, 1);
    const wanted = Array.from({ length: 16 }, (_, seed) =>
      sampler.sample(Int32Array.of(seed, ...prompt), { maxTokens: 200, seed }),
    );
    await second!.kill();
    const texts = (await Promise.all(wanted)).flat();
    expect(texts.map(({ tokens }) => tokens.length)).toEqual(texts.map(() => 200));
    servers[1] = await restart(Number(new URL(second!.url).port));
    await first!.kill();
    const [again] = await sampler.sample(prompt, { maxTokens: 20, seed: 1 });
    expect(difference(again!.logprobs, await logprobsByTrainer(engine, again!, 1))).toBeLessThan(
      tolerance,
    );
    servers[0] = await restart(Number(new URL(first!.url).port));
    await engine.close();
  });
});

const contract = { vocabSize, tolerance, learningRate: 0.003, scoresAt: 'one' } as const;

// What replaces the weights that adapters continue top of comes last.
describe('the contract', { tags: ['external'], timeout: 600_000 }, () => {
  describeEngine('a real vLLM with adapters', {
    ...contract,
    open: () => openComposite({ lora: true }),
  });
  describeEngine('a real vLLM with whole weights', { ...contract, open: () => openComposite({}) });
});

describe('a real vLLM with whole weights', { tags: ['external'], timeout: 600_000 }, () => {
  it('goes on with new weights in flight, and says which token is of which version', async () => {
    const engine = await openComposite({ inFlight: 'continue' });
    const { trainer, sampler } = engine;
    await trainer.publish(1);
    await sampler.adopt({ kind: 'published' }, 1);
    const row = { tokens: prompt, promptLength: 1, temperature: 1 };
    let text: SampledSequence | undefined;
    let before: SampledSequence | undefined;
    // Until a text is met by new weights before its end.
    for (let version = 2; version < 20 && text?.versions === undefined; version++) {
      const options = { maxTokens: 200, seed: 9 };
      [before] = await sampler.sample(prompt, options);
      const pass = await trainer.forward({ rows: [row] });
      await trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1) });
      await trainer.step({ learningRate: 0.003 });
      await trainer.publish(version);
      const writing = sampler.sample(prompt, options);
      await sampler.adopt({ kind: 'published' }, version);
      [text] = await writing;
    }
    const [first, second] = text!.versions!;
    expect(second!.policyVersion - first!.policyVersion).toBe(1);
    expect([first!.policyVersion, first!.start, second!.end]).toEqual([
      text!.policyVersion,
      0,
      200,
    ]);
    expect(second!.start).toBe(first!.end);
    const now = await logprobsByTrainer(engine, text!, 1);
    const { start } = second!;
    expect(difference(text!.logprobs.slice(start), now.slice(start))).toBeLessThan(tolerance);
    // What came before is as it was with the old weights.
    expect([...text!.tokens.slice(0, start)]).toEqual([...before!.tokens.slice(0, start)]);
    expect(
      difference(text!.logprobs.slice(0, start), before!.logprobs.slice(0, start)),
    ).toBeLessThan(tolerance);
    await engine.close();
  });
});

describe('a real vLLM with a tokenizer', { tags: ['external'], timeout: 600_000 }, () => {
  it('is compared with the tokenizer of the model, and refused where it differs', async () => {
    const directory = path.join(root, 'digits');
    const tokenizer = { characters: '0123456789+=\n' };
    await createModel({ directory, tokenizer, config: vllmSizes, seed: 1 });
    const found = await findVllm();
    if (!('python' in found)) throw new Error(found.missing);
    const { python } = found;
    const server = await startVllm({ python, modelPath: directory, folder: root, maxModelLen: 65 });
    const open = (vocabulary: VocabularySample): Promise<RemoteSampler> =>
      openSampler({ modelPath: directory, servers: [server], maxModelLen: 64, vocabulary });
    const own = vocabularySample(await loadTokenizer(directory));
    const sampler = await open(own);
    const longest = { tokens: new Int32Array(64).fill(3), promptLength: 1, temperature: 1 };
    expect(await sampler.score?.(longest)).toHaveLength(63);
    await sampler.close();
    const tokens = own.tokens.map(({ id, text }) => ({ id, text: text.replace('1', '2') }));
    await expect(open({ ...own, tokens })).rejects.toThrow(/the id \d+ is "2" here and "1" there/);
    const texts = [{ text: '1+2=3', ids: own.texts[0]?.ids ?? [] }];
    await expect(open({ ...own, texts })).rejects.toThrow(
      /the text "1\+2=3" is .+ here and .+ there/,
    );
    await server.stop();
  });
});
