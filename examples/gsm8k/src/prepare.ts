/** Makes a small random checkpoint that can read the tasks: its tokenizer is built from them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { chatTemplates } from '@trinity-rft/chat';
import { createRuntime } from '@trinity-rft/core';
import { createModel, type NewTokenizer } from '@trinity-rft/launcher';

/** Words that get a token of their own. */
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

/** All of printable ASCII, whatever else the tasks hold, and their commonest words. */
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

/**
 * The commonest words of three letters or more, each with the blank before it; ties in the order of
 * the text.
 */
function commonWords(text: string): readonly string[] {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(/ [A-Za-z]{3,}/g))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, wordCount)
    .map(([word]) => word);
}
