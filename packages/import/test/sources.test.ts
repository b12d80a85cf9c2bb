/** Rows of a small file of each source, read as training reads them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { readPreferenceRow, readSupervisedRow, readTaskRows } from '@trinity-rft/buffer';
import { defaultFormatArgs } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { renderImport, type ImportOptions } from '../src/index.js';
import { importFrom, importLines, reasonsOf, temporaryFolder, type Row } from './support.js';

const system = (content: string) => ({ role: 'system', content });
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const result = (content: string, id: string) => ({ role: 'tool', content, tool_call_id: id });
const call = (id: string, name: string, args: object) => ({
  role: 'assistant',
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
});
const tool = (name: string, more: object = {}) => ({
  type: 'function',
  function: { name, ...more, parameters: { type: 'object' } },
});

interface Case {
  readonly file: string;
  readonly source: string;
  readonly options?: Omit<ImportOptions, 'from' | 'output'>;
  readonly as: string;
  readonly rows: readonly Row[];
  readonly skipped?: readonly string[];
  readonly withScore?: number;
}

const weatherOfOpenai = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
};

const cases: readonly Case[] = [
  {
    file: 'openai.jsonl',
    source: 'openai',
    as: 'sft',
    rows: [
      {
        messages: [
          system('Be brief.'),
          user('Capital of Norway?'),
          { ...assistant('Bergen.'), weight: 0 },
          user('Sure?'),
          { ...assistant('Oslo.'), weight: 1 },
        ],
      },
      {
        messages: [
          user('Weather in Oslo?'),
          call('call_a', 'weather', { city: 'Oslo' }),
          result('rain', 'call_a'),
          assistant('Rain.'),
        ],
        tools: [weatherOfOpenai],
      },
    ],
  },
  {
    file: 'openai-dpo.jsonl',
    source: 'openai',
    as: 'dpo',
    rows: [
      {
        prompt: [user('Greet me.')],
        chosen: [assistant('Good morning!')],
        rejected: [assistant('What?')],
      },
      { prompt: [user('2+2')], chosen: [assistant('4')], rejected: [assistant('5')] },
      { prompt: [user('3+3')], chosen: [assistant('6')], rejected: [assistant('7')] },
    ],
  },
  {
    file: 'openai-tasks.jsonl',
    source: 'openai',
    as: 'tasks',
    rows: [
      {
        messages: [user('What is 2 + 2?')],
        question: 'What is 2 + 2?',
        answer: '4',
        level: 1,
        reason: 'even',
      },
      {
        messages: [{ role: 'developer', content: 'Use tools.' }, user('What is 3 + 3?')],
        answer: '6',
        level: 2,
      },
    ],
  },
  {
    file: 'together.jsonl',
    source: 'together',
    as: 'sft',
    rows: [{ messages: [user('Capital of Chile?'), assistant('Santiago')] }],
    skipped: ['a plain text has no turns; algorithm_type: cpt trains it as it is: 2'],
  },
  {
    file: 'otel.jsonl',
    source: 'otel',
    as: 'sft',
    rows: [
      {
        messages: [
          system('Be brief.'),
          user('Weather in Oslo?'),
          call('w1', 'weather', { city: 'Oslo' }),
          result('rain', 'w1'),
          { ...assistant('Rain.'), reasoning_content: 'It rains.' },
        ],
        tools: [tool('weather')],
      },
    ],
    withScore: 1,
  },
  {
    file: 'otel-plain.json',
    source: 'otel',
    as: 'sft',
    rows: [{ messages: [user('Hi'), assistant('Hello')] }],
    skipped: ['JSON text is cut off or malformed: the attribute gen_ai.input.messages: 2'],
  },
  {
    file: 'langfuse.jsonl',
    source: 'langfuse',
    as: 'sft',
    rows: [
      { messages: [user('Hi'), assistant('Hello'), user('Bye'), assistant('Goodbye')] },
      { messages: [user('Hi'), assistant('What?')] },
    ],
    skipped: [
      'the observation is not a call of a model: 3',
      'the score is a label, a text or a correction instead of a grade: 7',
    ],
    withScore: 2,
  },
  {
    file: 'langsmith.jsonl',
    source: 'langsmith',
    as: 'sft',
    rows: [
      {
        messages: [user('Add 2 and 3.'), { content: '', ...call('c1', 'add', { a: 2, b: 3 }) }],
        tools: [tool('add')],
      },
      { messages: [user('Hi'), assistant('Hello')] },
    ],
    skipped: ['the run is not a call of a model: 1', 'the call failed: 4'],
    withScore: 1,
  },
  {
    file: 'braintrust.jsonl',
    source: 'braintrust',
    as: 'tasks',
    rows: [
      { messages: [user('Capital of Peru?')], question: 'Capital of Peru?', answer: 'Lima' },
      {
        messages: [user('Capital of Peru?')],
        question: 'Capital of Peru?',
        answer: '{"city":"Lima"}',
      },
    ],
    skipped: ['the prompt is an object without messages: 3'],
    withScore: 2,
  },
  {
    file: 'braintrust.jsonl',
    source: 'braintrust',
    options: { as: 'dpo' },
    as: 'dpo',
    rows: [
      {
        prompt: [user('Capital of Peru?')],
        chosen: [assistant('Lima')],
        rejected: [assistant('Cusco')],
      },
    ],
    skipped: ['the prompt is an object without messages: 3'],
    withScore: 1,
  },
  {
    file: 'sharegpt.json',
    source: 'sharegpt',
    as: 'sft',
    rows: [
      {
        messages: [
          system('Be brief.'),
          user('Weather in Oslo?'),
          { content: '', ...call('call_0', 'weather', { city: 'Oslo' }) },
          result('rain', 'call_0'),
          assistant('Rain.'),
        ],
        tools: [tool('weather', { description: 'Looks.' })],
      },
    ],
    skipped: ['a message has no role: 2'],
  },
  {
    file: 'alpaca.json',
    source: 'alpaca',
    as: 'sft',
    rows: [
      { messages: [user('Translate.\nHund'), assistant('dog')] },
      {
        messages: [
          user('Name a fruit.'),
          assistant('Apple'),
          user('Name a colour.'),
          assistant('Red'),
        ],
      },
    ],
  },
  {
    file: 'alpaca.json',
    source: 'alpaca',
    options: { as: 'tasks' },
    as: 'tasks',
    rows: [
      {
        messages: [user('Translate.\nHund')],
        question: 'Translate.\nHund',
        answer: 'dog',
      },
      {
        messages: [user('Name a fruit.'), assistant('Apple'), user('Name a colour.')],
        answer: 'Red',
      },
    ],
  },
  {
    file: 'promptfoo.yaml',
    source: 'promptfoo',
    as: 'tasks',
    rows: ['What is 2 + 3?', 'Add 2 and 3.'].map((question) => ({
      messages: [user(question)],
      question,
      answer: '5',
      vars: { a: 2, b: 3 },
      assert: [
        { type: 'latency', threshold: 5000 },
        { type: 'equals', value: '5' },
      ],
    })),
    skipped: ['a prompt is in another file; write it into this one: 1'],
  },
];

const format = { ...defaultFormatArgs, chosenKey: 'chosen', rejectedKey: 'rejected' };

/** The readers of training, which throw for a row that they cannot use. */
const readers: Readonly<Record<string, (row: Row) => unknown>> = {
  sft: (row) => readSupervisedRow(row, format),
  dpo: (row) => readPreferenceRow(row, format),
  tasks: (row) => row,
};

describe('importRows', () => {
  it('takes a table of questions and answers, with its other columns', async () => {
    const from = path.join(temporaryFolder(), 'a.csv');
    writeFileSync(from, 'question;answer;level\n2+3;5;easy\n;7;\n3+4;7;\n4+5;;\n');
    const { report, rows } = await importFrom(from);
    expect(report).toMatchObject({ sources: ['plain'], as: 'tasks', written: 2 });
    expect(rows[0]).toEqual({
      messages: [user('2+3')],
      question: '2+3',
      answer: '5',
      level: 'easy',
    });
    expect(reasonsOf(report)).toEqual([
      'the prompt is neither a text nor messages: 3',
      'there is no answer: 5',
    ]);
    const { rows: answers } = await importFrom(from, { as: 'sft' });
    expect(answers[0]).toEqual({ messages: [user('2+3'), assistant('5')] });
  });

  it('names the assertions that the reward does not check, and the tasks without another', async () => {
    const from = path.join(temporaryFolder(), 'pf.yaml');
    const test = (assert: readonly object[]) => ({ vars: { a: 1 }, assert });
    const good = { type: 'contains', value: '7' };
    const tests = [
      test([good, { type: 'contians', value: '7' }]),
      test([{ type: 'regex', value: '(' }]),
      test([
        { ...good, transform: '' },
        { ...good, transform: 'output.trim()' },
      ]),
      ...[{}, { assert: null }, { assert: [] }].map((rest, i) => ({ vars: { a: 2 + i }, ...rest })),
      { vars: { a: 5 }, assert: [{ ...good, weight: 0 }] },
      { vars: { a: 6 }, assert: [{ ...good, weight: -1 }] },
    ];
    writeFileSync(from, JSON.stringify({ prompts: ['Hi', 'Ho'], tests }));
    const { report } = await importFrom(from);
    const places = (...details: readonly (string | undefined)[]) =>
      details.map((detail) => ({ file: from, line: 1, ...(detail !== undefined && { detail }) }));
    const broken = expect.stringContaining('"regex" has the value "(", which is not a regular');
    const transformed = expect.stringContaining('"contains" has a transform, which is not run');
    expect(report.unchecked).toEqual([
      {
        reason: 'the task fails: none of its assertions is checked',
        count: 8,
        first: places('"Hi"', '"Hi"', '"Hi"', '"Hi"', '"Ho"'),
      },
      {
        reason: 'the task fails: a weight or threshold is invalid, or all weights are 0',
        count: 4,
        first: places('"Hi"', '"Hi"', '"Ho"', '"Ho"'),
      },
      { reason: 'contians', count: 2, first: places(undefined, undefined) },
      { reason: 'regex', count: 2, first: places(broken, broken) },
      { reason: 'contains', count: 2, first: places(transformed, transformed) },
    ]);
    expect(renderImport(report)).toMatch(
      /Not checked by the reward taskAssertions:\n(?: {2}\d x the task fails.*\n){2} {2}2 x contians: \S+:1, \S+:1\n/,
    );
  });

  it.each(cases)(
    'recognises $file and imports it as $as',
    async ({ file, source, options, as, rows, skipped = [], withScore = 0 }) => {
      const from = path.join(import.meta.dirname, 'files', file);
      const imported = await importFrom(from, options);
      expect(imported.rows).toEqual(rows);
      expect(imported.report).toMatchObject({ sources: [source], as, withScore });
      expect(reasonsOf(imported.report)).toEqual(skipped);
      for (const row of imported.rows) readers[as]?.(row);
      // Every row is valid in a file of tasks as well.
      const read = await readTaskRows({ name: 'rows', path: imported.output });
      expect(read).toEqual(rows);
    },
  );

  const hello = [user('Hi'), assistant('Hello')];
  const run = { run_type: 'llm', outputs: assistant('Hello') };
  const generation = { traceId: 't', type: 'GENERATION', output: 'Hello' };
  const prompted = { messages: [user('Hi')], system: 'Be brief.' };
  it.each([
    ['openai', { messages: hello, system: 'Be brief.' }],
    ['openai', { messages: hello, system: [{ type: 'text', text: 'Be brief.' }] }],
    ['openai', { messages: [system('Be brief.'), ...hello], system: 'Be long.' }],
    ['together', { prompt: 'Hi', completion: 'Hello', system: 'Be brief.' }],
    ['langfuse', { ...generation, input: prompted }],
    ['langsmith', { ...run, inputs: prompted }],
    ['braintrust', { input: prompted, output: 'Hello', scores: {} }],
    ['sharegpt', { conversations: hello, system: 'Be brief.' }],
    ['alpaca', { instruction: 'Hi', output: 'Hello', system: 'Be brief.' }],
    ['plain', { question: 'Hi', answer: 'Hello', system: 'Be brief.' }],
  ])('puts the instructions beside the messages first: %s %j', async (source, record) => {
    const { rows, report } = await importLines([record], { as: 'sft' });
    expect(report.sources).toEqual([source]);
    expect(rows).toEqual([{ messages: [system('Be brief.'), ...hello] }]);
  });

  it.each([
    { chosen: 'Hello', rejected: 'No', prompt: 'Hi', system: 'Be brief.' },
    { input: prompted, preferred_output: [assistant('Hello')], non_preferred_output: 'No' },
  ])('puts them before the prompt of a pair: %j', async (record) => {
    const { rows } = await importLines([record]);
    expect(rows).toMatchObject([{ prompt: [system('Be brief.'), user('Hi')] }]);
  });

  it('keeps the tools of a prompt and a completion', async () => {
    const record = { prompt: [user('Hi')], completion: [assistant('Hello')], tools: [tool('f')] };
    const { rows } = await importLines([record]);
    expect(rows).toEqual([{ messages: hello, tools: [tool('f')] }]);
  });

  it.each<readonly [string, object]>([
    ['weight 0', { weight: 0 }],
    ["axolotl's train", { train: false, train_detail: [] }],
    ['train 0', { train: 0 }],
  ])('leaves an answer with %s out of training', async (_, more) => {
    const chat = await importLines([
      { messages: [...hello, user('Bye'), { ...assistant('No'), ...more }, ...hello] },
    ]);
    const left = { weight: 0 };
    expect(chat.rows).toMatchObject([{ messages: [{}, {}, {}, left, {}, {}] }]);
    const conversations = [
      { from: 'human', value: 'Hi' },
      { from: 'function_call', value: '{"name":"f"}', ...more },
      { from: 'gpt', value: 'Hello', train: true },
    ];
    const { rows } = await importLines([{ conversations }]);
    const last = { content: 'Hello', weight: 1 };
    expect(rows).toMatchObject([{ messages: [{}, { tool_calls: [{}], ...left }, last] }]);
  });

  it.each([
    { train_detail: [{ begin_offset: 0, end_offset: 1, train: false }] },
    { content: [{ type: 'text', text: 'No', train: false }] },
  ])('skips an answer of which parts are left out: %j', async (more) => {
    const { report } = await importLines([
      { messages: hello },
      { messages: [user('Hi'), { ...assistant('No'), ...more }] },
    ]);
    expect(reasonsOf(report)).toEqual([
      'only parts of an answer are trained (train_detail), which rows cannot say: 2',
    ]);
  });

  it('skips an answer whose train is a text', async () => {
    const answer = { ...assistant('No'), train: 'false' };
    const { report } = await importLines([{ messages: hello }, { messages: [user('Hi'), answer] }]);
    expect(reasonsOf(report)).toEqual(['a weight is neither 0 nor 1: 2']);
  });

  it.each<object>([
    { thinking: 'A greeting.' },
    { reasoning: null, thinking: 'A greeting.' },
    { reasoning_content: '', reasoning: 'A greeting.' },
    {
      reasoning_details: [
        { type: 'reasoning.text', text: 'A ' },
        { type: 'reasoning.encrypted', data: 'x' },
        { type: 'reasoning.text', text: 'greeting.' },
      ],
    },
  ])('keeps the reasoning of an answer: %j', async (more) => {
    const { rows } = await importLines([
      { messages: [user('Hi'), { ...assistant('Yo'), ...more }] },
    ]);
    const answer = { ...assistant('Yo'), reasoning_content: 'A greeting.' };
    expect(rows).toEqual([{ messages: [user('Hi'), answer] }]);
  });

  it('reads what LLaMA-Factory does: parallel calls, empty instructions, pairs of Alpaca', async () => {
    const value = '[{"name":"f","arguments":{"a":1}},{"name":"g","arguments":{}}]';
    const conversations = [
      { from: 'human', value: 'Hi' },
      { from: 'function_call', value },
    ];
    const parallel = await importLines([{ conversations }]);
    const functions = [
      { name: 'f', arguments: '{"a":1}' },
      { name: 'g', arguments: '{}' },
    ];
    expect(parallel.rows).toMatchObject([
      { messages: [{}, { tool_calls: functions.map((each) => ({ function: each })) }] },
    ]);
    const { rows, report } = await importLines([
      {
        instruction: 'Translate.',
        input: 'Hund',
        chosen: 'dog',
        rejected: 'cat',
        history: [['a', 'b']],
      },
      { instruction: '', input: 'Hi', chosen: 'Hello', rejected: 'No' },
      { instruction: '', input: '', chosen: 'Hello', rejected: 'No' },
    ]);
    const said = (text: string) => [assistant(text)];
    expect(report.sources).toEqual(['alpaca']);
    expect(reasonsOf(report)).toEqual(['the instruction and the input are empty: 3']);
    expect(rows).toEqual([
      {
        prompt: [user('a'), assistant('b'), user('Translate.\nHund')],
        ...{ chosen: said('dog'), rejected: said('cat') },
      },
      { prompt: [user('Hi')], chosen: said('Hello'), rejected: said('No') },
    ]);
  });

  it.each<readonly [string, Row, Row]>([
    ['TRL', { prompt: [user('2+2')], solution: '4' }, { solution: '4', answer: '4' }],
    ['TRL', { prompt: '2+2', ground_truth: 4 }, { ground_truth: 4, answer: '4' }],
    ['TRL', { prompt: '2+2', answer: 4, level: 1 }, { answer: '4', level: 1 }],
    ['TRL', { prompt: [user('2+2')], tools: [tool('f')] }, { tools: [tool('f')] }],
    [
      'TRL',
      { prompt: [user('2+2')], question: '2 + 2', messages: null, solution: '4' },
      { solution: '4', answer: '4' },
    ],
    [
      'TRL',
      { prompt: '2+2', answer: '', solution: '', ground_truth: '4' },
      { solution: '', ground_truth: '4', answer: '4' },
    ],
    [
      'verl',
      { prompt: [user('2+2')], data_source: 'x', reward_model: { ground_truth: '4' } },
      { data_source: 'x', reward_model: { ground_truth: '4' }, answer: '4' },
    ],
    ['OpenRLHF', { input: '2+2', label: '4' }, { label: '4', answer: '4' }],
    ["OpenAI's evals", { input: [user('2+2')], ideal: ['4'] }, { ideal: ['4'], answer: '4' }],
  ])('takes prompts alone as tasks, as %s has them: %j', async (_, record, columns) => {
    const { rows, report } = await importLines([record]);
    expect(report).toMatchObject({ sources: ['plain'], as: 'tasks' });
    expect(rows).toEqual([{ messages: [user('2+2')], question: '2+2', ...columns }]);
  });

  it('takes an answer that is no text', async () => {
    const { rows } = await importLines([{ question: 'Hi', answer: 0, choices: ['a', 'b'] }]);
    expect(rows).toMatchObject([{ question: 'Hi', answer: '0', choices: ['a', 'b'] }]);
  });

  it('does not cut the prompt of a task', async () => {
    const call = { ...assistant(''), tool_calls: [{ function: { name: 'f', arguments: '{}' } }] };
    const { report } = await importLines([
      { prompt: [user('Hi')], solution: 'x' },
      { prompt: [user('Hi'), call, { role: 'tool', content: 'rain' }], solution: 'rain' },
      { prompt: [user('Hi'), assistant('So')], solution: 'x' },
    ]);
    expect(reasonsOf(report)).toEqual(["the prompt does not end with the user's message: 2, 3"]);
  });

  it('reads prompts beside columns whose names only begin like answers', async () => {
    const columns = { conversation_id: 'c', response_format: 'text', output_type: 'number' };
    const { rows } = await importLines([{ prompt: [user('Hi')], solution: '4', ...columns }]);
    expect(rows).toMatchObject([{ question: 'Hi', answer: '4', ...columns }]);
  });

  it.each<Row>([
    { prompt: 'Hi' },
    { prompt: 'Hi', response_a: 'x', response_b: 'y', winner: 'a' },
    { prompt: 'Hi', generation: 'Hello', label: 1 },
    { prompt: 'Hi', answer1: 'x', answer2: 'y', preferred: 1 },
    { prompt: 'Hi', answer1: 'x', answer2: 'y', pref: 'left', label: 'x' },
    { prompt: ['Hi', 'Bye'], winner: 'a' },
    { prompt: hello, responses: ['x'] },
    { instruction: 'Classify.', input: 'I love it', label: 'positive' },
  ])('takes no answers of models or instructions for tasks: %j', async (record) => {
    await expect(importLines([record])).rejects.toThrow('no source recognises');
  });

  it('takes pairs of messages with an instruction as those of TRL', async () => {
    const pair = { chosen: hello, rejected: [user('Hi'), assistant('No')] };
    for (const record of [
      { instruction: 'Hi', ...pair },
      {
        instruction: 'Hi',
        chosen: JSON.stringify(pair.chosen),
        rejected: JSON.stringify(pair.rejected),
      },
    ])
      expect((await importLines([record])).rows).toEqual([
        { prompt: [user('Hi')], chosen: [assistant('Hello')], rejected: [assistant('No')] },
      ]);
  });

  it.each([
    ['label', false, { prompt: 'Hi', completion: 'Hello', label: true }],
    ['label', false, { messages: hello, label: true }],
    ['kto_tag', false, { messages: hello, kto_tag: true }],
    ['kto_tag', false, { conversations: hello, kto_tag: true }],
    ['kto_tag', 'False', { instruction: 'Hi', output: 'Hello', kto_tag: 'True' }],
  ])('skips rejected answers, those with the %s %j, among %j', async (key, mark, record) => {
    const bad = { ...record, [key]: mark };
    const { rows, report } = await importLines([record, bad]);
    expect(rows).toEqual([{ messages: hello }]);
    expect(reasonsOf(report)).toEqual([
      expect.stringMatching(/^label or kto_tag is false, .* as dpo: 2$/),
    ]);
    const [task] = (await importLines([bad], { as: 'tasks' })).rows;
    expect(task).toMatchObject({ question: 'Hi' });
    expect(task).not.toHaveProperty('answer');
  });

  it('makes pairs of good and rejected answers', async () => {
    const answers = [
      { prompt: 'Hi', completion: 'Hello', label: true },
      { prompt: 'Hi', completion: 'No', label: true },
      { prompt: 'Hi', completion: 'Go', label: false },
    ];
    const { rows } = await importLines(answers, { as: 'dpo' });
    expect(rows).toMatchObject([{ chosen: [assistant('Hello')], rejected: [assistant('Go')] }]);
    const verdicts = [
      { prompt: 'Is 9 prime?', completion: 'Yes', label: false },
      { prompt: 'Is 9 prime?', completion: 'No', label: true },
    ];
    expect((await importLines(verdicts, { as: 'dpo' })).rows).toMatchObject([
      { chosen: [assistant('No')], rejected: [assistant('Yes')] },
    ]);
    expect((await importLines(verdicts)).rows).toMatchObject([{ messages: [{}, assistant('No')] }]);
  });

  it.each([
    { instruction: 'Toxic?', input: 'x', output: 'Not at all', label: false },
    { prompt: 'Claim: x', completion: 'It is refuted.', label: 'False' },
    { prompt: 'Toxic?', completion: 'false', label: false },
    { prompt: 'Toxic?', completion: 'No.', label: false },
    { conversations: hello, label: 'False' },
    { prompt: 'Hi', chosen: 'a', rejected: 'b', label: false },
  ])('keeps rows whose label is a class: %j', async (record) => {
    const { report } = await importLines([record]);
    expect(report).toMatchObject({ written: 1, skipped: [] });
  });

  it.each([
    ['images', ['a.png'], { messages: hello }],
    ['video', 'a.mp4', { prompt: 'Hi', chosen: 'a', rejected: 'b' }],
    ['image', { bytes: 'x' }, { question: 'Hi', answer: 'Hello' }],
    ['audio', { array: [0.5], path: null }, { messages: hello }],
    ['audios', '["a.wav"]', { instruction: 'Hi', output: 'Hello' }],
    [
      'images',
      'a.png',
      { input: { messages: [user('Hi')] }, preferred_output: 'a', non_preferred_output: 'b' },
    ],
  ])('keeps rows with %s %j for tasks only: %j', async (column, media, record) => {
    const as = 'question' in record ? ({ as: 'sft' } as const) : {};
    const none = { ...record, [column]: [] };
    const { report } = await importLines([none, { ...record, [column]: media }], as);
    expect(report).toMatchObject({ written: 1 });
    expect(reasonsOf(report)).toEqual([
      `the row has ${column}; remove the column if the answer does not need it: 2`,
    ]);
    const tasks = await importLines([{ ...record, [column]: media }], { as: 'tasks' });
    expect(tasks.report).toMatchObject({ written: 1, skipped: [] });
  });

  it.each([
    ...[{ bytes: null, path: null }, {}, false, 0, 'none', 'false', 'null', 'NaN', ' '],
    ...[[''], [[]], '[]'],
  ])('keeps rows with the image %j, which is none', async (image) => {
    const { rows } = await importLines([{ messages: hello, image }]);
    expect(rows).toEqual([{ messages: hello }]);
  });

  it('uses instructions beside the messages once, and none that are blank', async () => {
    const as = 'tasks';
    const [task] = (await importLines([{ messages: hello, system: ['Be', 'brief.'] }], { as }))
      .rows;
    expect(task).toMatchObject({ messages: [{ role: 'system' }, {}], question: 'Hi' });
    expect(typeof task?.['system']).toBe('string');
    const kept = { messages: [system('Be brief.'), ...hello], system: 'Be long.' };
    expect((await importLines([kept], { as })).rows).toMatchObject([{ system: 'Be long.' }]);
    for (const blank of [[], ' ', null, false, {}])
      expect((await importLines([{ messages: hello, system: blank }])).rows).toEqual([
        { messages: hello },
      ]);
  });

  it.each([
    [
      'langfuse',
      'id,trace_id,type,name,input,output,value',
      'g1,t1,GENERATION,,Hi,Hello,',
      'g2,t2,GENERATION,,Hi,What?,',
      's1,t1,,polite,,,true',
      's2,t1,,short,,,0.5',
      's3,t2,,polite,,,False',
      's4,t2,,tone,,,rude',
      's5,t2,,tone,,,',
    ],
    [
      'braintrust',
      'input,output,scores',
      'Hi,Hello,"{""polite"": ""0.5""}"',
      'Hi,What?,"{""polite"": 0}"',
    ],
  ])('reads the scores of %s as CSV', async (source, ...lines) => {
    const from = path.join(temporaryFolder(), 'rows.csv');
    writeFileSync(from, lines.join('\n'));
    const { rows, report } = await importFrom(from, { as: 'dpo' });
    expect(report.sources).toEqual([source]);
    expect(rows).toEqual([
      { prompt: [user('Hi')], chosen: [assistant('Hello')], rejected: [assistant('What?')] },
    ]);
    expect(reasonsOf(report)).toEqual(
      source === 'langfuse' ? ['a score is neither a number nor true or false: 7, 8'] : [],
    );
  });

  it.each([
    ['prompt', [system('Be brief.'), user('Hi')], [user('Hi')]],
    ['prompt', [system('Be brief.'), user('Hi')], []],
    ['answers', 'Hi', [system('Be brief.'), user(' Hi\n')]],
    ['answers', 'Hi', [user('Hi'), assistant('Hello'), user('Bye')]],
    ['answers', [user('Hi')], [system('Be brief.'), user('Hi'), assistant('Hello'), user('Bye')]],
    ['answers', 'Hi', [system('Be brief.'), user('Hi'), assistant('Hello'), user('Bye')]],
    ['answers', 'Human: Hi\n\nAssistant:', [user('Hi')]],
    ['answers', '', [user('Hi')]],
    ['both', [user('Hi')], [system('Be brief.')]],
    ['both', [system('Be brief.'), user('Hi')], [user('Hi'), assistant('Hello'), user('Bye')]],
    ['neither', [user('Hi')], [user('Bye')]],
    ['neither', 'Translate: cat', [user('Summarise')]],
    ['neither', `Human: ${'A '.repeat(150)} Assistant: B Human: Hi Assistant:`, [user('Hi')]],
    ['neither', '<|system|>Be brief.<|user|>Hi<|assistant|>', [system('Be brief.')]],
    ['neither', [system('Be brief.'), user('Hi')], [system('Be long.'), user('Hi')]],
    ['neither', [user('Hi'), assistant('Hello'), user('Bye')], [user('Hi')]],
  ])('takes the prompt of %s, given %j and %j', async (taken, prompt, start) => {
    const [chosen, rejected] = ['good', 'bad'].map((text) => [...start, assistant(text)]);
    const from = path.join(temporaryFolder(), 'rows.json');
    const pair = {
      prompt: [user('1')],
      chosen: [user('1'), assistant('2')],
      rejected: [user('1'), assistant('3')],
    };
    writeFileSync(from, JSON.stringify([pair, { prompt, chosen, rejected }]));
    const { rows, report } = await importFrom(from);
    const turns = [user('Hi'), assistant('Hello'), user('Bye')];
    const both = [system('Be brief.'), ...turns.slice(0, start.length)];
    expect(rows[1]?.['prompt']).toEqual({ prompt, answers: start, both }[taken]);
    expect(reasonsOf(report)).toEqual(
      taken === 'neither' ? ['the prompt differs from the start of both answers: 2'] : [],
    );
  });

  it('imports a folder, each file by its own source', async () => {
    const { report } = await importFrom(path.join(import.meta.dirname, 'files'), { as: 'tasks' });
    expect(report.assertions).toEqual({ equals: 2, latency: 2 });
    expect(renderImport(report)).toMatch(
      /assertions +latency 2, equals 2[^]*default_reward_fn_type: \.\/asserts\.ts#taskAssertions\n$/,
    );
    expect(report.files).toBe(12);
    expect(report.sources).toHaveLength(9);
  });
});
