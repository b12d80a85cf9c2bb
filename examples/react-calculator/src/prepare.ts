/** Creates a small model with its tokenizer, demonstrations, and two files of problems. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime } from '@trinity-rft/core';
import { createModel, type NewTokenizer } from '@trinity-rft/launcher';
import { demonstrations, splitProblems } from './problems.ts';

/** Share of the demonstrations that call the tool. */
const toolShare = 0.2;

/**
 * Writes `model/`, `demonstrations.jsonl`, `tasks.jsonl` and `eval.jsonl` into `directory`. Equal
 * seeds give equal bytes.
 */
export async function prepare(directory: string, seed: number): Promise<void> {
  const runtime = createRuntime({ seed });
  await mkdir(directory, { recursive: true });
  await createModel({
    directory: path.join(directory, 'model'),
    tokenizer,
    initializerRange: 0.08,
    seed: runtime.seedFor('model'),
  });
  const { train, fresh } = splitProblems(runtime.random('problems'), 128);
  await writeRows(
    path.join(directory, 'demonstrations.jsonl'),
    demonstrations(train, toolShare, runtime.random('demonstrations')),
  );
  await writeRows(path.join(directory, 'tasks.jsonl'), train);
  await writeRows(path.join(directory, 'eval.jsonl'), fresh);
}

/**
 * Tokenizer in which the JSON of a call is a few tokens, so that the model learns when to call, not how to write JSON.
 */
const tokenizer: NewTokenizer = {
  characters: '0123456789*\n',
  words: ['{"name": "calculator", "arguments": {"expression": "', '"}}', 'error'],
  markers: ['<tool_call>', '</tool_call>'],
};

const writeRows = (file: string, rows: readonly object[]): Promise<void> =>
  writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
