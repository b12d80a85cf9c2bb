/** Creates a small model with its tokenizer, and three files of problems. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime } from '@trinity-rft/core';
import { createModel } from '@trinity-rft/launcher';
import { splitProblems, withSlips, type Problem } from './problems.ts';

/** Number of problems that are not trained on. */
export const freshCount = 512;

/**
 * Writes `model/`, `sft.jsonl`, `tasks.jsonl` and `eval.jsonl` into `directory`. Equal seeds give
 * equal bytes.
 */
export async function prepare(directory: string, seed: number): Promise<void> {
  const runtime = createRuntime({ seed });
  await mkdir(directory, { recursive: true });
  await createModel({
    directory: path.join(directory, 'model'),
    tokenizer: { characters: '0123456789+=\n' },
    initializerRange: 0.2,
    seed: runtime.seedFor('model'),
  });
  const { train, fresh } = splitProblems(runtime.random('problems'), freshCount);
  await writeProblems(
    path.join(directory, 'sft.jsonl'),
    withSlips(train, runtime.random('slips'), 0.65),
  );
  await writeProblems(path.join(directory, 'tasks.jsonl'), train);
  await writeProblems(path.join(directory, 'eval.jsonl'), fresh);
}

const writeProblems = (file: string, problems: readonly Problem[]): Promise<void> =>
  writeFile(file, problems.map((problem) => `${JSON.stringify(problem)}\n`).join(''));
