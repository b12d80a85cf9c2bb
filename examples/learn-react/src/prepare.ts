/** Creates problems, and a model that can use the tools but rarely does. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime, type Random, type Runtime } from '@trinity-rft/core';
import { createModel, run, type Terminal } from '@trinity-rft/launcher';
import { instructions, multiply, type Problem } from './agent.ts';

const testCount = 64;
/**
 * Share of the demonstrations that call the calculator, and share that give a structured answer.
 */
const toolShare = 0.25;
const structureShare = 0.6;

export interface PrepareOptions {
  /** Folder in which `runs/`, with model and data, is created. */
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
  await writeData(path.join(directory, 'runs', 'data'), runtime);
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
  return warmUp(options);
}

async function writeData(folder: string, runtime: Runtime): Promise<void> {
  await mkdir(folder, { recursive: true });
  const problems = runtime.random('problems').shuffle(allProblems());
  const train = problems.slice(testCount);
  const demonstrations = train.map((row) =>
    demonstration(row, runtime.random('demonstrations', row.question)),
  );
  await writeRows(path.join(folder, 'train.jsonl'), train);
  await writeRows(path.join(folder, 'test.jsonl'), problems.slice(0, testCount));
  await writeRows(path.join(folder, 'demonstrations.jsonl'), demonstrations);
}

/** Trains the model on the demonstrations and returns its folder. */
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

/** Start of a call as a single token, so that the model learns when to call, not how to write JSON. */
const callOf = (name: string, field: string): string =>
  `{"name": "${name}", "arguments": {"${field}": "`;

/** Two-digit numbers that are not multiples of 10, so that the product of rounded numbers is never right. */
const factors = Array.from({ length: 90 }, (_, i) => 10 + i).filter((factor) => factor % 10 !== 0);

const allProblems = (): readonly Problem[] =>
  factors.flatMap((a) => factors.map((b) => ({ question: `${a}*${b}`, answer: String(a * b) })));

/**
 * Conversation with a correct answer if the tool is called; otherwise a guess from both factors rounded to multiples of
 * 10.
 */
function demonstration({ question }: Problem, random: Random): object {
  const usesTool = random.next() < toolShare;
  const structured = random.next() < structureShare;
  const result = usesTool
    ? multiply(question)
    : multiply(
        question.replaceAll(/\d+/g, (factor) => String(10 * Math.round(Number(factor) / 10))),
      );
  return {
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: question },
      ...(usesTool
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
