/** Compares transformers.js, which runs exported folders, with the embedded engine. */
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  AutoModelForCausalLM,
  AutoTokenizer,
  env,
  Tensor,
  type PreTrainedModel,
} from '@huggingface/transformers';
import { createChatFormat, loadTokenizer } from '@trinity-rft/chat';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOnnxEngine } from '../src/engine.js';
import { modelFamilies } from '../src/model/config.js';
import { Graph } from '../src/onnx/graph/graph.js';
import { matmul } from '../src/onnx/ops/matmul.js';
import { loadModelFolder, saveModelFolder } from '../src/storage/model-folder.js';
import { saveTransformersJs, type SaveTransformersOptions } from '../src/transformers-js/save.js';
import { toBytes } from '../src/quantized/quantize.js';
import { readBatch } from './support/fixtures.js';

const fixture = (name: string): string => new URL(`fixtures/${name}`, import.meta.url).pathname;
const practice = new URL('../../../apps/create/templates/practice/model', import.meta.url).pathname;
const refused = ['qwen3_5_text', 'gemma4_text'] as const;
const cases = [
  ...modelFamilies.filter((family) => !refused.some((each) => each === family)),
  'phi3-longrope',
  'qwen2-window-yarn',
  'llama-gelu-dynamic',
];

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
  if (!existsSync(to))
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

const ours = (name: string, tokens: readonly number[]): Promise<readonly number[]> =>
  scores(fixture(name), tokens);

async function scores(modelPath: string, tokens: readonly number[]): Promise<readonly number[]> {
  const engine = await createOnnxEngine({ modelPath, threads: 1 });
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
        .filter(([key]) => key.startsWith('present'))
        .map(([key, value]) => [
          key.replace('present_', 'past_').replace('present.', 'past_key_values.'),
          value as unknown,
        ]),
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

  it('names its only number format, and replaces settings of other files', async () => {
    const from = path.join(scratch, 'downloaded');
    await cp(fixture('qwen3'), from, { recursive: true });
    const config = JSON.parse(await readFile(path.join(from, 'config.json'), 'utf8')) as object;
    const others = { 'transformers.js_config': { dtype: 'q4', use_external_data_format: true } };
    await writeFile(path.join(from, 'config.json'), JSON.stringify({ ...config, ...others }));
    await saveTransformersJs({ from, to: path.join(scratch, 'named'), dtypes: ['q8'] });
    const model = await AutoModelForCausalLM.from_pretrained('named');
    const { logits } = await run(model, {
      input_ids: ids([[1, 2]]),
      attention_mask: ids([[1, 1]]),
    });
    await model.dispose();
    expect(logits.dims[1]).toBe(2);
    expect(model.generation_config?.eos_token_id).toBe(
      (config as { readonly eos_token_id?: number }).eos_token_id,
    );
  });

  it('has the adapters of a checkpoint that holds nothing else merged in', async () => {
    const from = path.join(scratch, 'adapters');
    const engine = await createOnnxEngine({
      modelPath: fixture('qwen3'),
      lora: { path: fixture('peft-qwen3') },
      threads: 1,
    });
    await engine.trainer.save(from, { optimizer: false, merged: false });
    await engine.close();
    await saveTransformersJs({ from, to: path.join(scratch, 'merged'), dtypes: ['fp32'] });
    const tokens = longest(await rowsOf('qwen3'));
    const model = await AutoModelForCausalLM.from_pretrained('merged', { device: 'cpu' });
    const found = logprobs(
      await run(model, { input_ids: ids([tokens]), attention_mask: ids([tokens.map(() => 1)]) }),
      tokens,
    );
    await model.dispose();
    expect(largest(found, await scores(from, tokens))).toBeLessThan(1e-5);
    expect(largest(found, await ours('qwen3', tokens))).toBeGreaterThan(1e-3);
  });

  it('renders with the template of training, also where tokenizer_config.json has another one or is missing', async () => {
    const messages = [{ role: 'user', content: '85*11' }];
    const wanted = createChatFormat({ tokenizer: await loadTokenizer(practice) }).render({
      messages: [{ role: 'user', content: '85*11' }],
    });
    for (const fault of ['other', 'missing']) {
      const from = path.join(scratch, fault);
      await cp(practice, from, { recursive: true });
      const file = path.join(from, 'tokenizer_config.json');
      const config = JSON.parse(await readFile(file, 'utf8')) as object;
      if (fault === 'missing') await rm(file);
      else await writeFile(file, JSON.stringify({ ...config, chat_template: 'another' }));
      await saveTransformersJs({ from, to: `${from}-tjs`, dtypes: ['q8'] });
      const tokenizer = await AutoTokenizer.from_pretrained(`${fault}-tjs`);
      const options = { tokenize: false, add_generation_prompt: true } as const;
      expect(tokenizer.apply_chat_template(messages, options)).toBe(wanted);
    }
  });

  it('keeps the bytes of weights out of a second copy', () => {
    const graph = new Graph();
    const bytes = new Uint8Array(64);
    const weight = graph.stored('w', { dtype: 'float32', shape: [4, 4], bytes });
    graph.output('y', matmul(graph.input('x', 'float32', ['B', 4]), weight));
    const parts = graph.encodeParts();
    expect(parts).toContain(bytes);
    expect(Buffer.concat(parts)).toEqual(Buffer.from(graph.encode()));
  });
});

describe('a folder for transformers.js that cannot be made leaves nothing behind', () => {
  it.each<[string, Partial<SaveTransformersOptions>, string | RegExp]>([
    ['of a critic', { from: fixture('critic') }, 'critic: tensor score.bias'],
    [
      'in an unknown number format',
      { dtypes: ['q4' as Dtype] },
      /dtypes is \["q4"\].*fp32, fp16, q8/,
    ],
    ['in no number format', { dtypes: [] }, /at least one of fp32/],
    ['in a folder in use', { to: fixture('qwen3') }, /is not empty/],
    ['in place of a file', { to: fixture('qwen3/config.json') }, /config\.json is a file/],
    [
      'of a model with the gated delta rule',
      { from: fixture(refused[0]) },
      'gated delta rule is not',
    ],
    ['of Gemma 4', { from: fixture(refused[1]) }, 'layers with two widths of heads are not'],
    ['that is given up', { signal: AbortSignal.abort(new Error('given up')) }, 'given up'],
  ])('%s', async (_, options, message) => {
    const before = await readdir(scratch);
    const to = path.join(scratch, 'none');
    const saved = saveTransformersJs({ from: fixture('qwen3'), to, dtypes: ['fp32'], ...options });
    await expect(saved).rejects.toThrow(message);
    expect(await readdir(scratch)).toEqual(before);
  });

  it('of weights that were cut short', async () => {
    const from = path.join(scratch, 'short');
    await cp(fixture('qwen3'), from, { recursive: true });
    const weights = await readFile(fixture('qwen3/model.safetensors'));
    await writeFile(path.join(from, 'model.safetensors'), weights.subarray(0, weights.length / 2));
    const before = await readdir(scratch);
    const saved = saveTransformersJs({ from, to: path.join(scratch, 'none'), dtypes: ['fp32'] });
    await expect(saved).rejects.toThrow('model.safetensors');
    expect(await readdir(scratch)).toEqual(before);
  });

  it('of weights that 16 bits cannot hold, while the other formats can', async () => {
    const from = path.join(scratch, 'large');
    const { weights, ...files } = await loadModelFolder(fixture('qwen3'));
    weights[7] = 70_000;
    await saveModelFolder(from, files, weights);
    const save = (dtype: Dtype): Promise<void> =>
      saveTransformersJs({ from, to: path.join(scratch, `large-${dtype}`), dtypes: [dtype] });
    await expect(save('fp16')).rejects.toThrow(
      'A weight of model.embed_tokens.weight is 70000, and F16 ends at 65519. Use fp32 or q8.',
    );
    await save('q8');
    expect(await readdir(scratch)).not.toContain('large-fp16');
  });
});

it('8-bit blocks are within half a step of the numbers, and zeros stay zeros', () => {
  const numbers = Float32Array.from({ length: 3 * 40 }, (_, i) => (i < 40 ? 0 : Math.sin(i) * i));
  const { integers, scales } = toBytes(numbers, [3, 40]);
  expect(integers).toHaveLength(3 * 64);
  numbers.forEach((value, i) => {
    const [row, column] = [Math.floor(i / 40), i % 40];
    const scale = scales[row * 2 + Math.floor(column / 32)] ?? NaN;
    const found = ((integers[row * 64 + column] ?? NaN) - 128) * scale;
    expect(Math.abs(found - value)).toBeLessThanOrEqual(scale * 0.5001);
  });
});
