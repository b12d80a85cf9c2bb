import { describe, expect, test } from 'vitest';
import type { ModelConfig } from '../../packages/engine-onnx/src/model/config.js';
import { rowStates } from '../../packages/engine-onnx/src/model/row-states.js';
import { decodeGraph, prefillGraph } from '../../packages/engine-onnx/src/model/sampling-graphs.js';
import { forwardGraph } from '../../packages/engine-onnx/src/model/training-graphs.js';
import type { DeviceArrays, Feeds } from '../../packages/engine-onnx/src/runtime/graph-runtime.js';
import { cacheLayout } from '../../packages/engine-onnx/src/sample/kv-pool.js';
import { noSwiftShader } from '../support/src/gpu/swiftshader.js';
import { openRuntime } from './support/device.js';
import {
  difference,
  floats,
  integers,
  parameters,
  reference,
  tables,
  type Inputs,
} from './support/graphs.js';
import { modelOf } from './support/models.js';

const [promptLength, steps, capacity] = [4, 3, 16];
const temperature = 0.8;

interface Sampled {
  /** Prompt and drawn tokens of each row. */
  readonly tokens: readonly (readonly number[])[];
  readonly logprobs: readonly (readonly number[])[];
}

/** Prompt of a row. Row i has the same prompt and random numbers for any number of rows. */
const promptOf = (config: ModelConfig, row: number): readonly number[] =>
  Array.from({ length: promptLength }, (_, i) => (row * 5 + i * 7 + 3) % config.vocabSize);

const uniform = (row: number, step: number): number => ((step * 37 + row * 11) % 97) / 97;

/** Reads prompts into a cache and draws tokens. */
async function sample(config: ModelConfig, rows: number, weights: Inputs): Promise<Sampled> {
  const runtime = await openRuntime();
  const states = rowStates(config);
  const cache = runtime.cache(cacheLayout(config, capacity));
  cache.reserve(rows);
  const store = (out: DeviceArrays, position: number, length: number) =>
    cache.store(
      { keyValues: out['new_kv']!, states: states.map(({ name }) => out[`new_${name}`]!) },
      Array.from({ length: rows }, (_, row) => ({ from: row, to: row, position, length })),
    );
  const each = (of: (row: number) => number) => Array.from({ length: rows }, (_, row) => of(row));
  const tokens = Array.from({ length: rows }, (_, row) => [...promptOf(config, row)]);
  const logprobs: number[][] = tokens.map(() => []);
  const prefill = await runtime.load(prefillGraph(config), 'sample');
  const read = promptLength - 1;
  const ids = Int32Array.from(tokens.flatMap((row) => row.slice(0, read)));
  const given = { ...weights, ...tables(config, capacity) };
  store(await prefill.run({ ...given, ids: integers([rows, read], ids) }), 0, read);
  const decodeRecord = decodeGraph(config, { variant: 'sampled' });
  const decode = await runtime.load(decodeRecord, 'sample');
  for (let step = 0; step < steps; step++) {
    const position = read + step;
    const column = (of: (row: number) => number) => floats([rows, 1], Float32Array.from(each(of)));
    const feeds: Feeds = {
      ...given,
      ...cache.feeds(0, rows),
      ids: integers([rows, 1], Int32Array.from(each((row) => tokens[row]!.at(-1)!))),
      positions: integers([rows, 1], new Int32Array(rows).fill(position)),
      inverse_temperature: column(() => 1 / temperature),
      u: column((row) => uniform(row, step)),
    };
    const out = await decode.run(feeds);
    const [drawn, logprob] = [
      await runtime.read(out['token']!),
      await runtime.read(out['logprob']!),
    ];
    if (step === 0) await checkAgainstCpu(decodeRecord, feeds, drawn, logprob);
    store(out, position, 1);
    for (const row of tokens.keys()) {
      tokens[row]!.push(Number(drawn[row]));
      logprobs[row]!.push(Number(logprob[row]));
    }
    for (const array of Object.values(out)) array.free();
  }
  cache.free();
  return { tokens, logprobs };
}

/** Compares the first step with the CPU engine, which reads the same cache. */
async function checkAgainstCpu(
  record: Parameters<typeof reference>[0],
  feeds: Feeds,
  drawn: ArrayLike<number | bigint>,
  logprob: ArrayLike<number | bigint>,
): Promise<void> {
  const runtime = await openRuntime();
  const inputs: Record<string, Inputs[string]> = {};
  for (const [name, feed] of Object.entries(feeds))
    inputs[name] =
      'data' in feed
        ? feed
        : { dtype: feed.dtype, shape: feed.shape, data: await runtime.read(feed) };
  const expected = await reference(record, inputs);
  expect(drawn).toEqual(expected['token']);
  expect(difference(logprob, expected['logprob']!)).toBeLessThan(1e-5);
}

/** Log-probabilities of the drawn tokens, computed by the graph of the trainer. */
async function score(
  config: ModelConfig,
  { tokens }: Sampled,
  weights: Inputs,
): Promise<readonly (readonly number[])[]> {
  const runtime = await openRuntime();
  const record = forwardGraph(config, { entropy: false, chunks: 1, parts: ([out]) => [out] });
  const graph = await runtime.load(record, 'train');
  const time = promptLength + steps - 1;
  const picked = tokens.flatMap((row, b) =>
    Array.from({ length: steps }, (_, step) => ({
      place: b * time + promptLength - 1 + step,
      target: row[promptLength + step]!,
    })),
  );
  const count = picked.length;
  const out = await graph.run({
    ...weights,
    ...tables(config, capacity),
    ids: integers(
      [tokens.length, time],
      Int32Array.from(tokens.flatMap((row) => row.slice(0, -1))),
    ),
    rows: integers(
      [count],
      Int32Array.from(picked, ({ place }) => place),
    ),
    targets: integers(
      [count, 1],
      Int32Array.from(picked, ({ target }) => target),
    ),
    inverse_temperature: floats([count, 1], new Float32Array(count).fill(1 / temperature)),
  });
  const found = (await runtime.read(out['logprobs']!)) as Float32Array;
  return tokens.map((_, b) => Array.from(found.subarray(b * steps, (b + 1) * steps)));
}

describe.skipIf(noSwiftShader)(
  'sampled log-probabilities are those of the trainer, to the bit',
  () => {
    const qwen3 = modelOf('qwen3');
    const weights = parameters(qwen3);
    let most: Promise<Sampled> | undefined;

    test.each([33, 5, 3, 2, 1])('qwen3 with %d rows, as among 33', async (rows) => {
      most ??= sample(qwen3, 33, weights);
      const expected = await most;
      const found = rows === 33 ? expected : await sample(qwen3, rows, weights);
      expect(found.tokens).toEqual(expected.tokens.slice(0, rows));
      expect(found.logprobs).toEqual(expected.logprobs.slice(0, rows));
      expect(await score(qwen3, found, weights)).toEqual(found.logprobs);
    });

    const wide = { ...qwen3, hiddenSize: 256, intermediateSize: 64, layers: 1, vocabSize: 30 };
    test.each([
      ...[
        'gemma2',
        'gemma3_text',
        'gemma4_text',
        'qwen3_moe',
        'lfm2',
        'qwen2-window-yarn',
        'llama with biases',
      ].map((name) => [name, modelOf(name)] as const),
      ['256 numbers wide', wide] as const,
      ['heads 256 wide', { ...qwen3, headDim: 256, layers: 1 }] as const,
    ])('%s with 3 rows', async (_, config) => {
      const own = parameters(config);
      const found = await sample(config, 3, own);
      expect(await score(config, found, own)).toEqual(found.logprobs);
    });
  },
);
