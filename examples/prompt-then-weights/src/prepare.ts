/** Creates the data set, and a model that adds better when it is asked to be careful. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime, type Random } from '@trinity-rft/core';
import { createModel, run, type Terminal } from '@trinity-rft/launcher';
import { basePrompt, slips, type Problem } from './agent.ts';

/** Upper bound (exclusive) of the numbers that are added. */
const limit = 30;
const heldOut = 100;
/** Worked examples per problem and prompt. */
const examplesOfEach = 4;

export interface PrepareOptions {
  /** Folder in which `runs/`, with data and model, is created. */
  readonly directory: string;
  readonly seed: number;
  readonly terminal: Terminal;
  /** Variables of `warmup.yaml`: `WARMUP_STEPS`. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns the folder of the model. Equal seeds give equal bytes. */
export async function prepare({ directory, seed, terminal, env }: PrepareOptions): Promise<string> {
  const runtime = createRuntime({ seed });
  const pairs = Array.from({ length: limit * limit }, (_, i) =>
    problem(Math.floor(i / limit), i % limit),
  );
  const problems = runtime.random('problems').shuffle(pairs);
  const train = problems.slice(heldOut);
  const worked = Object.entries(slips).flatMap(([sentence, share]) =>
    Array.from({ length: examplesOfEach }, (_, i) =>
      train.map((row) =>
        conversation(row, sentence, share, runtime.random('slips', sentence, i, row.question)),
      ),
    ).flat(),
  );
  await writeRows(path.join(directory, 'runs', 'sums', 'train.jsonl'), train);
  await writeRows(path.join(directory, 'runs', 'sums', 'test.jsonl'), problems.slice(0, heldOut));
  await writeRows(path.join(directory, 'runs', 'worked.jsonl'), worked);
  const words = [basePrompt, ...Object.keys(slips).filter((sentence) => sentence !== '')];
  await createModel({
    directory: path.join(directory, 'runs', 'new-model'),
    tokenizer: { characters: '0123456789\n', words: [...words, 'What is ', ' + ', '?'] },
    initializerRange: 0.2,
    seed: runtime.seedFor('model'),
  });
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

function conversation(
  { question, answer }: Problem,
  sentence: string,
  share: number,
  random: Random,
): object {
  const digits = [...answer];
  if (random.next() < share) digits[random.integer(digits.length)] = String(random.integer(10));
  return {
    messages: [
      { role: 'system', content: `${basePrompt}${sentence}` },
      { role: 'user', content: question },
      { role: 'assistant', content: digits.join('') },
    ],
  };
}

async function writeRows(file: string, rows: readonly object[]): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}
