/** Writes the questions. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime } from '@trinity-rft/core';
import { splitQuestions, type Question } from './questions.ts';

/** Writes `tasks.jsonl` and `eval.jsonl`. Returns the questions that are not trained on. */
export async function writeQuestions(
  directory: string,
  { seed, fresh: freshCount }: { readonly seed: number; readonly fresh: number },
): Promise<readonly Question[]> {
  const { train, fresh } = splitQuestions(createRuntime({ seed }).random('questions'), freshCount);
  await mkdir(directory, { recursive: true });
  await writeRows(path.join(directory, 'tasks.jsonl'), train);
  await writeRows(path.join(directory, 'eval.jsonl'), fresh);
  return fresh;
}

const writeRows = (file: string, rows: readonly Question[]): Promise<void> =>
  writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
