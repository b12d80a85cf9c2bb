/** Creates a small random model, with a tokenizer built from the tasks. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { chatTemplates } from '@trinity-rft/chat';
import { createRuntime } from '@trinity-rft/core';
import { createModel, type NewTokenizer } from '@trinity-rft/launcher';

/** Number of words that become tokens. */
const wordCount = 500;

/** Writes the model folder `directory`. Equal tasks and seeds give equal bytes. */
export async function prepare(
  directory: string,
  taskFiles: readonly string[],
  seed: number,
): Promise<void> {
  const texts = await Promise.all(taskFiles.map(readTexts));
  await createModel({
    directory,
    tokenizer: tokenizerOf(texts.join('\n')),
    config: { hiddenSize: 64, layers: 2, heads: 4, kvHeads: 2, headDim: 16, maxPositions: 1536 },
    seed: createRuntime({ seed }).seedFor('model'),
  });
}

async function readTexts(file: string): Promise<string> {
  const lines = (await readFile(path.resolve(file), 'utf8')).trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as { question: string; answer: string });
  return rows.map(({ question, answer }) => `${question}\n${answer}`).join('\n');
}

/** All characters of printable ASCII and of the tasks, and the most frequent words. */
function tokenizerOf(text: string): NewTokenizer {
  const ascii = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCodePoint(0x20 + i));
  return {
    characters: [...new Set(['\n', ...ascii, ...text])],
    words: commonWords(text),
    specialTokens: ['<|im_start|>', '<|endoftext|>'],
    markers: ['<think>', '</think>', '<answer>', '</answer>'],
    padToken: '<|endoftext|>',
    chatTemplate: chatTemplates.chatml,
  };
}

/** The most frequent words of three letters or more, with the blank before each. */
function commonWords(text: string): readonly string[] {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(/ [A-Za-z]{3,}/g))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, wordCount)
    .map(([word]) => word);
}
