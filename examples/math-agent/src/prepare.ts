/**
 * Makes what the tutorial has at hand: a data set in a folder, and a model that can already do
 * something.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime, InvariantError, type Random } from '@trinity-rft/core';
import { createModel, run, type Terminal } from '@trinity-rft/launcher';
import { sysPrompt, type Problem } from './agent.ts';

/** Numbers below this are added. */
const limit = 30;
const testCount = 90;
/**
 * Worked examples of each problem, and the share of them with a wrong digit: the model learns to
 * add, and to slip.
 */
const examplesOfEach = 8;
const slips = 0.6;

export interface PrepareOptions {
  /** Gets `my_dataset/`, and `runs/` with the model. */
  readonly directory: string;
  readonly seed: number;
  readonly terminal: Terminal;
  /** Changes the number of supervised steps in `warmup.yaml`. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns the folder of the model. Equal seeds give equal bytes. */
export async function prepare({
  directory,
  seed,
  terminal,
  env = {},
}: PrepareOptions): Promise<string> {
  const runtime = createRuntime({ seed });
  const problems = runtime
    .random('problems')
    .shuffle(
      Array.from({ length: limit * limit }, (_, i) => problem(Math.floor(i / limit), i % limit)),
    );
  const train = problems.slice(testCount);
  await writeRows(path.join(directory, 'my_dataset', 'train.jsonl'), train);
  await writeRows(path.join(directory, 'my_dataset', 'test.jsonl'), problems.slice(0, testCount));
  await writeRows(
    path.join(directory, 'runs', 'worked.jsonl'),
    Array.from({ length: examplesOfEach }, (_, i) =>
      train.map((row) => conversation(row, runtime.random('slips', i, row.question))),
    ).flat(),
  );
  await createModel({
    directory: path.join(directory, 'runs', 'new-model'),
    tokenizer: { characters: '0123456789\n', words: [sysPrompt, 'What is ', ' + ', '?'] },
    initializerRange: 0.2,
    seed: runtime.seedFor('model'),
  });
  const configPath = path.join(import.meta.dirname, '..', 'warmup.yaml');
  const { checkpoint } = await run({
    configPath,
    cwd: directory,
    terminal,
    env: { ...process.env, SEED: String(seed), ...env },
  });
  if (checkpoint === undefined) throw new InvariantError('The warm-up left no model.');
  return checkpoint;
}

const problem = (a: number, b: number): Problem => ({
  question: `What is ${a} + ${b}?`,
  answer: String(a + b),
});

function conversation({ question, answer }: Problem, random: Random): object {
  const digits = [...answer];
  if (random.next() < slips) digits[random.integer(digits.length)] = String(random.integer(10));
  return {
    messages: [
      { role: 'system', content: sysPrompt },
      { role: 'user', content: question },
      { role: 'assistant', content: digits.join('') },
    ],
  };
}

async function writeRows(file: string, rows: readonly object[]): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}
