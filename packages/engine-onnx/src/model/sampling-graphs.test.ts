import { describe, expect, test } from 'vitest';
import { architectures, architectureConfig } from '../../test/support/architectures.js';
import { livelyWeights, randomBatch, tinyModels } from '../../test/support/models.js';
import type { DeviceArrays, Feeds, GraphRuntime, RowCache } from '../runtime/graph-runtime.js';
import { floats, ints } from '../runtime/host-arrays.js';
import { floatsOf } from '../runtime/onnx-arrays.js';
import { newPositions } from '../sample/kernels.js';
import { cacheLayout } from '../sample/kv-pool.js';
import { OnnxTrainer } from '../train/trainer.js';
import type { ModelConfig } from './config.js';
import { RopeFeeds } from './rope.js';
import { decodeGraph, prefillGraph, type DecodeVariant } from './sampling-graphs.js';
import { WeightBuffers } from './weights.js';
import { cpu } from '../../test/support/runtime.js';

const capacity = 64;
const column = (data: Float32Array) => floats(data, [data.length, 1]);

/** A cache with arbitrary numbers where nothing was stored yet, and states of zeros. */
function newCache(runtime: GraphRuntime, config: ModelConfig, rows: number): RowCache {
  const layout = cacheLayout(config, capacity);
  const cache = runtime.cache(layout);
  cache.reserve(rows);
  const feeds = cache.feeds(0, rows);
  for (const { name } of layout.inputs) floatsOf(feeds[name]!).fill(123);
  return cache;
}

/**
 * Log-probabilities of the tokens of equally long rows by prefill and then token by token.
 * [rows][time - prompt]
 */
async function sampledLogprobs(
  config: ModelConfig,
  weights: WeightBuffers,
  rows: readonly Int32Array[],
  prompt: number,
  temperature: number,
) {
  const count = rows.length;
  const { runtime } = weights;
  const prefill = await runtime.load(prefillGraph(config), 'sample');
  const decode = await runtime.load(decodeGraph(config, { variant: 'logprobs' }), 'sample');
  const rope = new RopeFeeds(runtime, config).feeds(capacity);
  const common = {
    ...weights.training.arrays,
    ...rope,
    inverse_temperature: column(new Float32Array(count).fill(1 / temperature)),
  };
  const cache = newCache(runtime, config, count);
  const moves = (position: number, time: number) =>
    rows.map((_, row) => ({ from: row, to: row, position, length: time }));
  const out = rows.map(() => [] as number[]);
  const read = (logprobs: Float32Array, position: number) =>
    rows.forEach((row, i) => out[i]!.push(logprobs[i * config.vocabSize + row[position + 1]!]!));

  // Decoding begins with the last token of the prompt.
  const length = prompt - 1;
  const prompts = Int32Array.from(rows.flatMap((row) => [...row.subarray(0, length)]));
  const first = await prefill.run({
    ...weights.training.arrays,
    ...rope,
    ids: ints(prompts, [count, length]),
  });
  cache.store(newPositions(config, first), moves(0, length));
  for (let position = length; position + 1 < rows[0]!.length; position++) {
    const tokens = Int32Array.from(rows, (row) => row[position]!);
    const slots = new Int32Array(count).fill(position);
    const step = await decode.run({
      ...common,
      ...cache.feeds(0, count),
      ids: ints(tokens, [count, 1]),
      positions: ints(slots, [count, 1]),
    });
    read((await runtime.read(step['logprobs']!)) as Float32Array, position);
    cache.store(newPositions(config, step), moves(position, 1));
  }
  await prefill.free();
  await decode.free();
  return out;
}

describe('prefill and decode give the bits of the trainer', () => {
  /** Model whose layer [64, 384] is divided differently for few and for many rows, with two threads. */
  const fragile: ModelConfig = {
    ...tinyModels.qwen3,
    hiddenSize: 64,
    headDim: 16,
    intermediateSize: 384,
  };
  const cases: [string, ModelConfig, number][] = [
    ...Object.entries(tinyModels).map(([name, config]): [string, ModelConfig, number] => [
      name,
      config,
      1,
    ]),
    ...architectures.map((name): [string, ModelConfig, number] => [
      name,
      architectureConfig(name),
      1,
    ]),
    ['a model whose sums depend on the number of rows', fragile, 2],
  ];

  test.each(cases)('for %s', async (_, config, threads) => {
    const weights = new WeightBuffers(cpu(threads), config, livelyWeights(config));
    const trainer = new OnnxTrainer({ config, weights });
    const [prompt, temperature] = [5, 0.7];
    for (const lengths of [
      [40, 40, 40],
      [9, 9, 9],
    ]) {
      const batch = {
        rows: randomBatch(config, lengths, 2, temperature).rows.map((row) => ({
          ...row,
          promptLength: prompt,
        })),
      };
      const pass = await trainer.forward(batch);
      const rows = batch.rows.map((row) => row.tokens);
      const sampled = await sampledLogprobs(config, weights, rows, prompt, temperature);
      expect(Float32Array.from(sampled.flat())).toEqual(pass.logprobs);
    }
    await trainer.close();
  });
});

describe('drawing in the graph', () => {
  const config: ModelConfig = tinyModels.qwen3;

  /** Rows that read the same token first, each with its own u. */
  async function draw(weights: WeightBuffers, u: Float32Array) {
    const rows = u.length;
    const { runtime } = weights;
    const feeds = {
      ...weights.training.arrays,
      ...new RopeFeeds(runtime, config).feeds(capacity),
      ...newCache(runtime, config, rows).feeds(0, rows),
      ids: ints(new Int32Array(rows).fill(3), [rows, 1]),
      positions: ints(new Int32Array(rows), [rows, 1]),
      inverse_temperature: column(new Float32Array(rows).fill(1)),
    };
    const run = async (variant: DecodeVariant, own: Feeds) => {
      const graph = await runtime.load(decodeGraph(config, { variant }), 'sample');
      const out = await graph.run({ ...feeds, ...own });
      await graph.free();
      return out;
    };
    const read = (out: DeviceArrays, name: string) => runtime.read(out[name]!);
    const drawn = await run('sampled', { u: column(u) });
    const logprobs = (await read(await run('logprobs', {}), 'logprobs')) as Float32Array;
    return {
      tokens: [...((await read(drawn, 'token')) as Int32Array)],
      logprob: (await read(drawn, 'logprob')) as Float32Array,
      logprobs: logprobs.subarray(0, config.vocabSize),
    };
  }

  test('inverts the cumulative distribution and reports the token’s log-probability', async () => {
    const u = Float32Array.from({ length: 50 }, (_, i) => i / 50);
    const { tokens, logprob, logprobs } = await draw(
      new WeightBuffers(cpu(), config, livelyWeights(config)),
      u,
    );
    let cumulative = 0;
    const bounds = Array.from(logprobs, (x) => (cumulative += Math.exp(x)));
    expect(tokens).toEqual(
      Array.from(u, (x) => bounds.findIndex((bound) => bound > x * cumulative)),
    );
    expect(logprob).toEqual(Float32Array.from(tokens, (token) => logprobs[token]!));
  });

  test('never draws a token of probability 0, not even at the ends', async () => {
    const weights = livelyWeights(config);
    // All tokens but 7 look away from every state, so their probability underflows to 0.
    const width = config.hiddenSize;
    weights.subarray(0, config.vocabSize * width).fill(-100);
    weights.subarray(7 * width, 8 * width).fill(100);
    weights.fill(1, weights.length - width);
    const { tokens, logprobs } = await draw(
      new WeightBuffers(cpu(), config, weights),
      Float32Array.of(0, 1 - 2 ** -24, 1),
    );
    const possible = [...logprobs.keys()].filter((token) => Math.exp(logprobs[token]!) > 0);
    expect(possible.length).toBeLessThan(config.vocabSize);
    for (const token of tokens) expect(possible).toContain(token);
  });
});
