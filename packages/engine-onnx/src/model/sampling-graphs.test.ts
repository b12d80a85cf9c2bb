import { Tensor, type InferenceSession } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { architectures, architectureConfig } from '../../test/support/architectures.js';
import { livelyWeights, randomBatch, tinyModels } from '../../test/support/models.js';
import { createSession } from '../runtime/session.js';
import { newPositions } from '../sample/kernels.js';
import { cacheNames } from '../sample/kv-pool.js';
import { StateRows } from '../sample/state-rows.js';
import { OnnxTrainer } from '../train/trainer.js';
import type { ModelConfig } from './config.js';
import { RopeFeeds } from './rope.js';
import { rowStates } from './row-states.js';
import { decodeGraph, prefillGraph, type DecodeVariant } from './sampling-graphs.js';
import { WeightBuffers } from './weights.js';

const capacity = 64;
const column = (data: Float32Array) => new Tensor('float32', data, [data.length, 1]);
const ids = (data: Int32Array, shape: number[]) => new Tensor('int32', data, shape);

/** A cache of `capacity` slots per layer, filled with rubbish where nothing was stored yet, and states. */
class Cache {
  readonly #config: ModelConfig;
  readonly #rows: number;
  readonly #names: readonly string[];
  readonly #arrays: readonly Float32Array[];
  readonly #states: StateRows;

  constructor(config: ModelConfig, rows: number) {
    this.#config = config;
    this.#rows = rows;
    const size = rows * config.kvHeads * capacity * config.headDim;
    this.#names = cacheNames(config);
    this.#arrays = this.#names.map(() => new Float32Array(size).fill(123));
    this.#states = new StateRows(rowStates(config));
    this.#states.grow(rows);
  }

  store(out: InferenceSession.OnnxValueMapType, time: number, at: number): void {
    const { kvHeads, headDim } = this.#config;
    const { keyValues, states } = newPositions(this.#config, out);
    for (let row = 0; row < this.#rows; row++) this.#states.store(row, states, row);
    const bands = this.#arrays.length * kvHeads;
    for (let row = 0; row < this.#rows; row++) {
      for (let band = 0; band < bands; band++) {
        const from = (row * bands + band) * time * headDim;
        const to = ((row * kvHeads + (band % kvHeads)) * capacity + at) * headDim;
        this.#arrays[Math.floor(band / kvHeads)]!.set(
          keyValues.subarray(from, from + time * headDim),
          to,
        );
      }
    }
  }

  get feeds(): Record<string, Tensor> {
    const shape = [this.#rows, this.#config.kvHeads, capacity, this.#config.headDim];
    const keyValues = this.#arrays.map((data, i) => [
      this.#names[i],
      new Tensor('float32', data, shape),
    ]);
    return { ...Object.fromEntries(keyValues), ...this.#states.feeds(0, this.#rows) };
  }
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
  { temperature, threads }: { temperature: number; threads: number },
) {
  const count = rows.length;
  const prefill = await createSession(prefillGraph(config), { threads, kind: 'sample' });
  const decode = await createSession(decodeGraph(config, { variant: 'logprobs' }), {
    threads,
    kind: 'sample',
  });
  const rope = new RopeFeeds(config).feeds(capacity);
  const common = {
    ...weights.training.feeds,
    ...rope,
    inverse_temperature: column(new Float32Array(count).fill(1 / temperature)),
  };
  const cache = new Cache(config, count);
  const out = rows.map(() => [] as number[]);
  const read = (logprobs: Float32Array, position: number) =>
    rows.forEach((row, i) => out[i]!.push(logprobs[i * config.vocabSize + row[position + 1]!]!));

  // Decoding begins with the last token of the prompt.
  const length = prompt - 1;
  const prompts = Int32Array.from(rows.flatMap((row) => [...row.subarray(0, length)]));
  const first = await prefill.run({
    ...weights.training.feeds,
    ...rope,
    ids: ids(prompts, [count, length]),
  });
  cache.store(first, length, 0);
  for (let position = length; position + 1 < rows[0]!.length; position++) {
    const tokens = Int32Array.from(rows, (row) => row[position]!);
    const slots = new Int32Array(count).fill(position);
    const step = await decode.run({
      ...common,
      ...cache.feeds,
      ids: ids(tokens, [count, 1]),
      positions: ids(slots, [count, 1]),
    });
    read(step['logprobs']!.data as Float32Array, position);
    cache.store(step, 1, position);
  }
  await prefill.release();
  await decode.release();
  return out;
}

describe('prefill and decode give the bits of the trainer', () => {
  /** With two threads, its layer [64, 384] is cut up differently for few rows and for many. */
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
    const weights = new WeightBuffers(config, livelyWeights(config));
    const trainer = new OnnxTrainer({ config, weights, threads });
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
      const sampled = await sampledLogprobs(config, weights, rows, prompt, {
        temperature,
        threads,
      });
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
    const feeds = {
      ...weights.training.feeds,
      ...new RopeFeeds(config).feeds(capacity),
      ...new Cache(config, rows).feeds,
      ids: ids(new Int32Array(rows).fill(3), [rows, 1]),
      positions: ids(new Int32Array(rows), [rows, 1]),
      inverse_temperature: column(new Float32Array(rows).fill(1)),
    };
    const run = async (variant: DecodeVariant, own: Record<string, Tensor>) => {
      const session = await createSession(decodeGraph(config, { variant }), {
        threads: 1,
        kind: 'sample',
      });
      const out = await session.run({ ...feeds, ...own });
      await session.release();
      return out;
    };
    const drawn = await run('sampled', { u: column(u) });
    const logprobs = (await run('logprobs', {}))['logprobs']!.data as Float32Array;
    return {
      tokens: [...(drawn['token']!.data as Int32Array)],
      logprob: drawn['logprob']!.data as Float32Array,
      logprobs: logprobs.subarray(0, config.vocabSize),
    };
  }

  test('inverts the cumulative distribution and reports the token’s log-probability', async () => {
    const u = Float32Array.from({ length: 50 }, (_, i) => i / 50);
    const { tokens, logprob, logprobs } = await draw(
      new WeightBuffers(config, livelyWeights(config)),
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
      new WeightBuffers(config, weights),
      Float32Array.of(0, 1 - 2 ** -24, 1),
    );
    const possible = [...logprobs.keys()].filter((token) => Math.exp(logprobs[token]!) > 0);
    expect(possible.length).toBeLessThan(config.vocabSize);
    for (const token of tokens) expect(possible).toContain(token);
  });
});
