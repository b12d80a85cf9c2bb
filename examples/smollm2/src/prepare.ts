/** Writes the questions, and conversations about them. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime } from '@trinity-rft/core';
import { demonstrations } from './demonstrations.ts';
import { splitQuestions, type Question } from './questions.ts';

/** Share of the demonstrations that call the tool. */
const toolShare = 0.2;
const demonstrationCount = 256;

/**
 * Writes `tasks.jsonl`, `eval.jsonl` and, for the agent, `demonstrations.jsonl`. Returns the
 * questions that are not trained on. Equal seeds give equal bytes.
 */
export async function writeQuestions(
  directory: string,
  { seed, fresh: freshCount }: { readonly seed: number; readonly fresh: number },
): Promise<readonly Question[]> {
  const runtime = createRuntime({ seed });
  const { train, fresh } = splitQuestions(runtime.random('questions'), freshCount);
  const shown = demonstrations(
    train.slice(0, demonstrationCount),
    toolShare,
    runtime.random('demonstrations'),
  );
  await mkdir(directory, { recursive: true });
  await writeRows(path.join(directory, 'tasks.jsonl'), train);
  await writeRows(path.join(directory, 'eval.jsonl'), fresh);
  await writeRows(path.join(directory, 'demonstrations.jsonl'), shown);
  return fresh;
}

const writeRows = (file: string, rows: readonly object[]): Promise<void> =>
  writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
