/** Creates the tutorial's data set, and a model that can already answer some of its questions. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime, type Random, type Runtime } from '@trinity-rft/core';
import { createModel, run, type Terminal } from '@trinity-rft/launcher';
import { sysPrompt, type Problem } from './agent.ts';

/** Upper bound (exclusive) of the numbers that are added. */
const limit = 30;
const testCount = 90;
/** Number of worked examples per problem, and the share of examples with a wrong digit. */
const examplesOfEach = 8;
const slips = 0.6;

export interface PrepareOptions {
  /** Folder in which `my_dataset/`, and `runs/` with the model, are created. */
  readonly directory: string;
  readonly seed: number;
  readonly terminal: Terminal;
  /** Variables of `warmup.yaml`: `WARMUP_STEPS`. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns the folder of the model. Equal seeds give equal bytes. */
export async function prepare(options: PrepareOptions): Promise<string> {
  const { directory, seed } = options;
  const runtime = createRuntime({ seed });
  await writeData(directory, runtime);
  await createModel({
    directory: path.join(directory, 'runs', 'new-model'),
    tokenizer: { characters: '0123456789\n', words: [sysPrompt, 'What is ', ' + ', '?'] },
    initializerRange: 0.2,
    seed: runtime.seedFor('model'),
  });
  return warmUp(options);
}

async function writeData(directory: string, runtime: Runtime): Promise<void> {
  const pairs = Array.from({ length: limit * limit }, (_, i) =>
    problem(Math.floor(i / limit), i % limit),
  );
  const problems = runtime.random('problems').shuffle(pairs);
  const train = problems.slice(testCount);
  const worked = Array.from({ length: examplesOfEach }, (_, i) =>
    train.map((row) => conversation(row, runtime.random('slips', i, row.question))),
  );
  await writeRows(path.join(directory, 'my_dataset', 'train.jsonl'), train);
  await writeRows(path.join(directory, 'my_dataset', 'test.jsonl'), problems.slice(0, testCount));
  await writeRows(path.join(directory, 'runs', 'worked.jsonl'), worked.flat());
}

/** Trains the model on the worked examples and returns its folder. */
async function warmUp({ directory, seed, terminal, env }: PrepareOptions): Promise<string> {
  const { checkpoint } = await run({
    configPath: path.join(import.meta.dirname, '..', 'warmup.yaml'),
    cwd: directory,
    terminal,
    env: { ...process.env, SEED: String(seed), ...env },
  });
  if (checkpoint === undefined) throw new Error('The warm-up saved no model.');
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
