/** Creates a small model, problems, and demonstrations in the words of AgentScope's agent. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime, type Random } from '@trinity-rft/core';
import { createModel } from '@trinity-rft/launcher';

/** Share of the demonstrations that call the calculator; the others round both numbers. */
const toolShare = 0.4;

/** Messages of the agent and of our endpoint to the model; each is a single token. */
const said = {
  system: 'You are a helpful math problem solving agent.',
  mustCall: 'You must call one of the functions.',
  success: 'Successfully generated response.',
  textNext:
    '<system-hint>Now generate a text response based on your current situation</system-hint>',
};

/** Writes `model/`, `demonstrations.jsonl` and `tasks.jsonl`. Equal seeds give equal bytes. */
export async function prepare(directory: string, seed: number): Promise<void> {
  const runtime = createRuntime({ seed });
  await mkdir(directory, { recursive: true });
  await createModel({
    directory: path.join(directory, 'model'),
    tokenizer: {
      characters: '0123456789*\n',
      words: [
        ...Object.values(said),
        callOf('calculator', 'expression'),
        callOf('generate_response', 'result'),
        '"}}',
        'error',
      ],
      markers: ['<tool_call>', '</tool_call>'],
    },
    config: { hiddenSize: 64, layers: 2, heads: 4, kvHeads: 2, headDim: 16, maxPositions: 512 },
    initializerRange: 0.08,
    seed: runtime.seedFor('model'),
  });
  const questions = runtime.random('problems').shuffle(allQuestions());
  const random = runtime.random('demonstrations');
  await writeRows(
    path.join(directory, 'tasks.jsonl'),
    questions.map((question) => ({ question, answer: product(question) })),
  );
  await writeRows(
    path.join(directory, 'demonstrations.jsonl'),
    questions.flatMap((question) => demonstrations(question, random)),
  );
}

/** Start of a call as a single token, so that the model learns which tool to call, not how to write JSON. */
const callOf = (name: string, field: string): string =>
  `{"name": "${name}", "arguments": {"${field}": "`;

/** Factors that are not multiples of 10, so that the product of the rounded factors is never right. */
const factors = Array.from({ length: 90 }, (_, i) => 10 + i).filter((factor) => factor % 10 !== 0);

const allQuestions = (): readonly string[] =>
  factors.flatMap((a) => factors.map((b) => `${a}*${b}`));

function product(question: string): string {
  const [a = 0, b = 0] = question.split('*').map(Number);
  return String(a * b);
}

const rounded = (question: string): string =>
  product(question.replaceAll(/\d+/g, (factor) => String(10 * Math.round(Number(factor) / 10))));

/** Conversations that end at each required call, and the whole conversation with its last turn. */
function demonstrations(question: string, random: Random): readonly object[] {
  const usesTool = random.next() < toolShare;
  const result = usesTool ? product(question) : rounded(question);
  const calls = [
    { role: 'user', content: question },
    ...(usesTool ? turn('calculator', { expression: question }, result) : []),
    ...turn('generate_response', { result }, said.success),
  ];
  return [
    { messages: [system(`${said.system}\n\n${said.mustCall}`), ...calls.slice(0, -1)] },
    {
      messages: [
        system(said.system),
        ...calls,
        { role: 'user', content: said.textNext },
        { role: 'assistant', content: result },
      ],
    },
  ];
}

const system = (content: string): object => ({ role: 'system', content });

const turn = (name: string, input: object, output: string): readonly object[] => [
  {
    role: 'assistant',
    content: '',
    tool_calls: [
      { id: 'call', type: 'function', function: { name, arguments: JSON.stringify(input) } },
    ],
  },
  { role: 'tool', tool_call_id: 'call', content: output },
];

const writeRows = (file: string, rows: readonly object[]): Promise<void> =>
  writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
