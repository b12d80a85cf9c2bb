/** Makes problems, and a model that can use the tool and the structure, but seldom does. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime, InvariantError, type Random } from '@trinity-rft/core';
import { createModel, run, type Terminal } from '@trinity-rft/launcher';
import { instructions, multiply, type Problem } from './agent.ts';

const testCount = 64;
/** Shares of the demonstrations that ask the calculator, and that answer as the structure wants. */
const toolShare = 0.25;
const structureShare = 0.6;

export interface PrepareOptions {
  /** Gets `runs/` with model and data. */
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
  const data = path.join(directory, 'runs', 'data');
  await mkdir(data, { recursive: true });
  const problems = runtime.random('problems').shuffle(allProblems());
  const train = problems.slice(testCount);
  await writeRows(path.join(data, 'train.jsonl'), train);
  await writeRows(path.join(data, 'test.jsonl'), problems.slice(0, testCount));
  await writeRows(
    path.join(data, 'demonstrations.jsonl'),
    train.map((row) => demonstration(row, runtime.random('demonstrations', row.question))),
  );
  await createModel({
    directory: path.join(directory, 'runs', 'new-model'),
    tokenizer: {
      characters: '0123456789*\n',
      words: [
        instructions,
        callOf('calculator', 'expression'),
        callOf('generate_response', 'result'),
        '"}}',
        'error',
      ],
      markers: ['<tool_call>', '</tool_call>'],
    },
    initializerRange: 0.08,
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

/** One token: the model learns when to call, not how JSON is spelled. */
const callOf = (name: string, field: string): string =>
  `{"name": "${name}", "arguments": {"${field}":"`;

/** Two-digit numbers that are no tens: rounding them never gives the product. */
const factors = Array.from({ length: 90 }, (_, i) => 10 + i).filter((factor) => factor % 10 !== 0);

const allProblems = (): readonly Problem[] =>
  factors.flatMap((a) => factors.map((b) => ({ question: `${a}*${b}`, answer: String(a * b) })));

/** With the tool the answer is right; without it both factors are rounded to tens. */
function demonstration({ question }: Problem, random: Random): object {
  const asksTool = random.next() < toolShare;
  const structured = random.next() < structureShare;
  const result = asksTool
    ? multiply(question)
    : multiply(
        question.replaceAll(/\d+/g, (factor) => String(10 * Math.round(Number(factor) / 10))),
      );
  return {
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: question },
      ...(asksTool
        ? [
            toolCall('calculator', { expression: question }),
            { role: 'tool', tool_call_id: 'call', content: result },
          ]
        : []),
      structured
        ? toolCall('generate_response', { result })
        : { role: 'assistant', content: result },
    ],
  };
}

const toolCall = (name: string, input: object): object => ({
  role: 'assistant',
  content: '',
  tool_calls: [
    { id: 'call', type: 'function', function: { name, arguments: JSON.stringify(input) } },
  ],
});

const writeRows = (file: string, rows: readonly object[]): Promise<void> =>
  writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
