/** Compares how we read SmolLM2's GGUF file with transformers and llama.cpp's gguf package. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { createChatFormat, loadTokenizer } from '@trinity-rft/chat';
import { createOnnxEngine, loadModelFolder } from '@trinity-rft/engine-onnx';
import { openGguf, openGgufModel } from '@trinity-rft/chat/gguf';
import { findPython, runPython } from '@trinity-rft/test-support';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { findModel } from './support/model.ts';

const script = path.join(import.meta.dirname, 'support', 'read_gguf.py');
const texts = [
  'Hello, world! 12345 + 678 = 42, and 3.14159.',
  'naïve café — 東京 😀\n\n\tdef f(x):\n    return x**2  # done   ',
  "I'll say it's 17+25=42; they've 'quoted' HE'S\r\n",
  '<|im_start|>user\nWhat is 17+25?<|im_end|>\n<|im_start|>assistant\n42<|im_end|>',
  'Ünïcödé ½ ² ٣ क्ष e\u0301 \u00a0 \u200b end',
];
const conversations = [
  [{ role: 'user', content: 'Hi' }],
  [
    { role: 'system', content: ' Be brief. ' },
    { role: 'user', content: 'What is 17+25?' },
    { role: 'assistant', content: '42' },
    { role: 'user', content: 'And\n18+25? ' },
  ],
] as const;

interface Reference {
  readonly dequantised: Readonly<Record<string, string>>;
  readonly weights: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, unknown>>;
  readonly ids: readonly (readonly number[])[];
  readonly texts: readonly string[];
  readonly prompts: readonly string[];
  readonly logprobs: readonly (readonly number[])[];
  readonly end: string;
}

let file = '';
let reference: Reference | undefined;
let missing = '';

beforeAll(async () => {
  const model = await findModel();
  const packages = ['torch', 'transformers', 'gguf', 'accelerate', 'sentencepiece', 'protobuf'];
  const python = await findPython(packages);
  if ('missing' in model || 'missing' in python) {
    missing = [model, python].flatMap((part) => ('missing' in part ? part.missing : [])).join('; ');
    return;
  }
  ({ file } = model);
  const inputs = [JSON.stringify(texts), JSON.stringify(conversations)];
  reference = await runPython<Reference>(python.program, [script, file, ...inputs]);
}, 2_000_000);

function expected({ skip }: TestContext): Reference {
  return reference ?? skip(missing);
}

const digest = (values: Float32Array): string =>
  createHash('sha256').update(new Uint8Array(values.buffer)).digest('hex');
const numbersOf = (shape: readonly number[]): Float32Array<ArrayBuffer> =>
  new Float32Array(shape.reduce((product, n) => product * n, 1));

describe('SmolLM2-135M-Instruct as a GGUF file', { tags: ['external'], timeout: 600_000 }, () => {
  it('has the tensors of llama.cpp and of transformers, to the last bit', (context) => {
    const { dequantised, weights } = expected(context);
    const stored = openGguf(file);
    const found = [...stored.tensors.values()].map(({ name, shape }) => {
      const values = numbersOf(shape);
      stored.read(name, values);
      return [name, digest(values)];
    });
    stored.close();
    expect(Object.fromEntries(found)).toEqual(dequantised);
    const model = openGgufModel(file);
    const named = [...model.tensors].map(([name, tensor]) => {
      const values = numbersOf(tensor.shape);
      tensor.read(values);
      return [name, digest(values)];
    });
    model.close();
    const { 'lm_head.weight': tied, ...others } = weights;
    expect(tied ?? others['model.embed_tokens.weight']).toBe(others['model.embed_tokens.weight']);
    expect(Object.fromEntries(named)).toEqual(others);
  });

  it('has the config of transformers', async (context) => {
    const { config } = expected(context);
    const { configText } = await loadModelFolder(file);
    expect(JSON.parse(configText)).toMatchObject(config);
  });

  it('has the token ids, texts and prompts of transformers', async (context) => {
    const { ids, texts: decoded, prompts, end } = expected(context);
    const tokenizer = await loadTokenizer(file);
    expect(texts.map((text) => [...tokenizer.encode(text)])).toEqual(ids);
    expect(ids.map((row) => tokenizer.decode(row))).toEqual(decoded);
    expect(tokenizer.specialTokens['eos_token']).toBe(end);
    const format = createChatFormat({ tokenizer });
    const rendered = conversations.map((messages) => format.render({ messages: [...messages] }));
    expect(rendered).toEqual(prompts);
  });

  it('has the log-probabilities of transformers', async (context) => {
    const { ids, logprobs } = expected(context);
    const engine = await createOnnxEngine({ modelPath: file });
    const rows = ids.map((row) => ({
      tokens: Int32Array.from(row),
      promptLength: 1,
      temperature: 1,
    }));
    const pass = await engine.trainer.forward({ rows });
    await engine.close();
    const wanted = logprobs.flat();
    const differences = wanted.map((value, i) => Math.abs(value - (pass.logprobs[i] ?? NaN)));
    expect(differences).toHaveLength(pass.logprobs.length);
    expect(Math.max(...differences)).toBeLessThan(5e-4);
  });
});
