/** Folders for transformers.js, in transformers.js itself, against the embedded engine. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AutoModelForCausalLM, env, Tensor, type PreTrainedModel } from '@huggingface/transformers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOnnxEngine } from '../src/engine.js';
import { modelFamilies } from '../src/model/config.js';
import { saveTransformersJs, type SaveTransformersOptions } from '../src/transformers-js/save.js';
import { toBlocks } from '../src/transformers-js/stored-weights.js';
import { readBatch } from './support/fixtures.js';

const fixture = (name: string): string => new URL(`fixtures/${name}`, import.meta.url).pathname;
const cases = [...modelFamilies, 'qwen2-window-yarn', 'llama-gelu-dynamic'];

let scratch = '';
beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-tjs-'));
  env.allowRemoteModels = false;
  env.useFSCache = false;
  env.localModelPath = scratch;
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

type Dtype = SaveTransformersOptions['dtypes'][number];

async function opened(
  name: string,
  dtype: Dtype,
  mostBytesInFile?: number,
): Promise<PreTrainedModel> {
  const folder = `${name}-${dtype}-${mostBytesInFile ?? 'one'}`;
  const to = path.join(scratch, folder);
  await saveTransformersJs({ from: fixture(name), to, dtypes: [dtype], mostBytesInFile });
  return AutoModelForCausalLM.from_pretrained(folder, { dtype, device: 'cpu' });
}

const ids = (rows: readonly (readonly number[])[]): Tensor =>
  new Tensor('int64', BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0]?.length ?? 0]);

interface Outputs {
  readonly logits: Tensor;
}

const run = async (model: PreTrainedModel, inputs: Record<string, unknown>): Promise<Outputs> =>
  (await model(inputs)) as Outputs;

/** Log-probability of each token but the first, of row `at`. [T - 1] */
function logprobs({ logits }: Outputs, tokens: readonly number[], at = 0): readonly number[] {
  const [, time = 0, width = 0] = logits.dims;
  const data = logits.data as Float32Array;
  const skipped = time - tokens.length;
  return tokens.slice(1).map((token, i) => {
    const row = data.subarray(
      (at * time + skipped + i) * width,
      (at * time + skipped + i + 1) * width,
    );
    const highest = row.reduce((a, b) => Math.max(a, b));
    const sum = row.reduce((total, logit) => total + Math.exp(logit - highest), 0);
    return (row[token] ?? NaN) - highest - Math.log(sum);
  });
}

const rowsOf = async (name: string): Promise<readonly (readonly number[])[]> =>
  (await readBatch(fixture(name))).batch.rows.map(({ tokens }) => [...tokens]);

async function ours(name: string, tokens: readonly number[]): Promise<readonly number[]> {
  const engine = await createOnnxEngine({ modelPath: fixture(name), threads: 1 });
  try {
    const row = { tokens: Int32Array.from(tokens), promptLength: 1, temperature: 1 };
    return [...(await engine.trainer.forward({ rows: [row] })).logprobs];
  } finally {
    await engine.close();
  }
}

const largest = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((most, x, i) => Math.max(most, Math.abs(x - (b[i] ?? NaN))), 0);

const longest = (rows: readonly (readonly number[])[]): readonly number[] =>
  rows.toSorted((a, b) => b.length - a.length)[0] ?? [];

describe.each(cases)('%s', (name) => {
  it('has the log-probabilities of the engine in float32, 16 bits and 8 bits', async () => {
    const tokens = longest(await rowsOf(name));
    const wanted = await ours(name, tokens);
    const limits: Readonly<Record<Dtype, number>> = { fp32: 1e-5, fp16: 0.02, q8: 0.5 };
    const differences: [Dtype, boolean][] = [];
    for (const dtype of ['fp32', 'fp16', 'q8'] as const) {
      const model = await opened(name, dtype);
      const found = logprobs(
        await run(model, { input_ids: ids([tokens]), attention_mask: ids([tokens.map(() => 1)]) }),
        tokens,
      );
      await model.dispose();
      differences.push([dtype, largest(found, wanted) < limits[dtype]]);
    }
    expect(differences).toEqual(Object.keys(limits).map((dtype) => [dtype, true]));
  });

  it('continues from its cache, and reads rows beside padding, as it reads them alone', async () => {
    const tokens = longest(await rowsOf(name));
    const model = await opened(name, 'fp32');
    const ones = (count: number): readonly number[] => Array.from({ length: count }, () => 1);
    const whole = await run(model, {
      input_ids: ids([tokens]),
      attention_mask: ids([ones(tokens.length)]),
    });
    const half = Math.floor(tokens.length / 2);
    const first = await run(model, {
      input_ids: ids([tokens.slice(0, half)]),
      attention_mask: ids([ones(half)]),
    });
    const past = Object.fromEntries(
      Object.entries(first)
        .filter(([key]) => key.startsWith('present.'))
        .map(([key, value]) => [key.replace('present', 'past_key_values'), value as unknown]),
    );
    const rest = tokens.slice(half);
    // Families that count positions from 1 turn all vectors by the same angle.
    const second = await run(model, {
      input_ids: ids([rest]),
      attention_mask: ids([ones(tokens.length)]),
      position_ids: ids([rest.map((_, i) => half + i + (name === 'gemma3_text' ? 1 : 0))]),
      past_key_values: past,
    });
    const expected = logprobs(whole, tokens);
    expect(largest(logprobs(second, rest), expected.slice(half))).toBeLessThan(1e-5);

    const short = tokens.slice(0, half);
    const padded = [...ones(tokens.length - half).map(() => 0), ...short];
    const both = await run(model, {
      input_ids: ids([tokens, padded]),
      attention_mask: ids([
        ones(tokens.length),
        padded.map((_, i) => (i < tokens.length - half ? 0 : 1)),
      ]),
    });
    await model.dispose();
    expect(largest(logprobs(both, tokens, 0), expected)).toBeLessThan(1e-5);
    expect(largest(logprobs(both, short, 1), expected.slice(0, half - 1))).toBeLessThan(1e-5);
  });
});

describe('a folder for transformers.js', () => {
  it('holds its weights in files beside the model beyond a size', async () => {
    const tokens = longest(await rowsOf('qwen3'));
    const model = await opened('qwen3', 'fp32', 20_000);
    const config = JSON.parse(
      await readFile(path.join(scratch, 'qwen3-fp32-20000', 'config.json'), 'utf8'),
    ) as Record<string, { readonly use_external_data_format?: Record<string, number> }>;
    const files = config['transformers.js_config']?.use_external_data_format?.['model.onnx'];
    expect(files).toBeGreaterThan(1);
    const found = await run(model, {
      input_ids: ids([tokens]),
      attention_mask: ids([tokens.map(() => 1)]),
    });
    await model.dispose();
    expect(largest(logprobs(found, tokens), await ours('qwen3', tokens))).toBeLessThan(1e-5);
  });

  it('gives the last logits alone while it generates', async () => {
    const model = await opened('qwen3', 'fp32');
    const { logits } = await run(model, {
      input_ids: ids([[1, 2, 3, 4]]),
      attention_mask: ids([[1, 1, 1, 1]]),
      num_logits_to_keep: new Tensor('int64', [1n], []),
    });
    await model.dispose();
    expect(logits.dims[1]).toBe(1);
  });

  it('is not made of a critic', async () => {
    const saved = saveTransformersJs({
      from: fixture('critic'),
      to: path.join(scratch, 'critic'),
      dtypes: ['fp32'],
    });
    await expect(saved).rejects.toThrow('critic: tensor score.bias');
  });

  it('is not made of weights that were cut short', async () => {
    const from = path.join(scratch, 'short');
    await saveTransformersJs({ from: fixture('qwen3'), to: from, dtypes: ['fp32'] });
    const weights = await readFile(fixture('qwen3/model.safetensors'));
    await writeFile(path.join(from, 'model.safetensors'), weights.subarray(0, weights.length / 2));
    const saved = saveTransformersJs({ from, to: path.join(scratch, 'none'), dtypes: ['fp32'] });
    await expect(saved).rejects.toThrow('model.safetensors');
  });
});

it('8-bit blocks are within half a step of the numbers, and zeros stay zeros', () => {
  const numbers = Float32Array.from({ length: 3 * 40 }, (_, i) => (i < 40 ? 0 : Math.sin(i) * i));
  const { integers, scales } = toBlocks(numbers, [3, 40]);
  expect(integers).toHaveLength(3 * 64);
  numbers.forEach((value, i) => {
    const [row, column] = [Math.floor(i / 40), i % 40];
    const scale = scales[row * 2 + Math.floor(column / 32)] ?? NaN;
    const found = ((integers[row * 64 + column] ?? NaN) - 128) * scale;
    expect(Math.abs(found - value)).toBeLessThanOrEqual(scale * 0.5001);
  });
});
