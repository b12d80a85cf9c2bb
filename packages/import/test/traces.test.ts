/** Spans of many traces, in the order in which an exporter writes them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderImport } from '../src/index.js';
import { importFrom, importLines, reasonsOf, temporaryFolder } from './support.js';

const said = (...texts: readonly string[]) =>
  texts.map((content, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    parts: [{ type: 'text', content }],
  }));

/** The span of a call with this history, the last text being its answer. */
const chat = (traceId: string, end: number, ...texts: readonly string[]) => ({
  traceId,
  spanId: `${traceId}-${end}`,
  parentSpanId: `${traceId}-agent`,
  endTimeUnixNano: String(end),
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': JSON.stringify(said(...texts.slice(0, -1))),
    'gen_ai.output.messages': JSON.stringify([
      { role: 'assistant', parts: said('', texts.at(-1) ?? '')[1]?.parts },
    ]),
  },
});

const skippedOf = async (records: readonly object[]) =>
  reasonsOf((await importLines(records)).report);

const agent = (traceId: string) => ({
  traceId,
  spanId: `${traceId}-agent`,
  endTimeUnixNano: '9',
  attributes: { 'gen_ai.operation.name': 'invoke_agent' },
});

/** Generations of Langfuse, one per trace, that answer the same prompt. */
const generationsOf = (answers: Readonly<Record<string, string>>) =>
  Object.entries(answers).map(([traceId, content]) => ({
    ...{ id: `${traceId}-g`, traceId, type: 'GENERATION' },
    ...{ input: [{ role: 'user', content: 'Hi' }], output: { role: 'assistant', content } },
  }));

it('takes the last call of each agent, and keeps a thousand traces in memory', async () => {
  const traces = Array.from({ length: 2500 }, (_, i) => `t${i}`);
  const spans = traces.flatMap((id) => [
    chat(id, 1, id, 'a'),
    chat(id, 2, id, 'a', 'b', 'c'),
    agent(id),
  ]);
  const late = chat('t0', 3, 't0', 'a', 'b', 'c', 'd', 'e');
  const { report, rows } = await importLines([...spans, late]);
  expect(report).toMatchObject({ read: 7501, written: 2500 });
  expect(rows.every(({ messages }) => (messages as unknown[]).length === 4)).toBe(true);
  expect(reasonsOf(report)).toEqual(['a part of a trace came long after the rest of it: 7501']);
});

it('names the line of the part of a trace that cannot be used', async () => {
  const cut = chat('t', 2, 'Hi', 'a', 'b', 'c');
  const broken = { ...cut, attributes: { ...cut.attributes, 'gen_ai.input.messages': '[{"ro' } };
  const other = chat('other', 1, 'Hi', 'Hello.');
  for (const end of [5, 60]) {
    const text = cut.attributes['gen_ai.input.messages'].slice(0, end);
    broken.attributes['gen_ai.input.messages'] = text;
    const { rows, report } = await importLines([chat('t', 1, 'Hi', 'a'), broken, other]);
    expect(rows).toHaveLength(2);
    expect(reasonsOf(report)).toEqual([expect.stringMatching(/gen_ai\.input\.messages: 2$/)]);
  }
  const generation = (id: number, input: string, content: string) => ({
    id: String(id),
    traceId: 't',
    type: 'GENERATION',
    input,
    output: { role: 'assistant', content },
  });
  const run = (id: number, content: string, answer: string) => ({
    id: String(id),
    trace_id: 't',
    run_type: 'llm',
    inputs: { messages: [{ role: 'user', content }] },
    outputs: { role: 'assistant', content: answer },
  });
  for (const records of [
    [generation(1, 'Hi', 'a'), generation(2, 'Ho', '')],
    [run(1, 'Hi', 'a'), run(2, 'Ho', '')],
  ])
    expect(await skippedOf(records)).toEqual(['an answer is empty: 2']);
});

it('takes the last call that did not fail, and names calls that failed or lack an answer', async () => {
  const { attributes, ...span } = chat('t', 2, 'Hi', 'a', 'b', 'c');
  const lastOf = (answer: object, more: object = {}) => ({
    ...span,
    ...more,
    attributes: { ...attributes, 'gen_ai.output.messages': undefined, ...answer },
  });
  const failed = lastOf({ 'error.type': 'timeout' });
  const status = { code: 2 };
  const answer = (output: unknown) => ({ 'gen_ai.output.messages': output });
  const [empty, none] = [answer('[]'), answer([])];
  for (const last of [
    failed,
    lastOf({}, { status }),
    lastOf(empty, { status }),
    lastOf(none, { status }),
  ]) {
    const { rows, report } = await importLines([chat('t', 1, 'Hi', 'a'), last, agent('t')]);
    expect(report.skipped).toEqual([]);
    expect(rows).toMatchObject([{ messages: [{ content: 'Hi' }, { content: 'a' }] }]);
  }
  const other = chat('other', 1, 'Hi', 'a');
  const called = { type: 'tool_call', id: '1', name: 'f', arguments: {} };
  const asking = {
    ...chat('t', 1, 'Hi', ''),
    attributes: {
      ...attributes,
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [called] }]),
    },
  };
  expect(await skippedOf([asking, failed, agent('t'), other])).toEqual(['the call failed: 2']);
  expect(await skippedOf([other, failed])).toEqual(['the call failed: 2']);
  expect(await skippedOf([chat('t', 1, 'Hi', 'a'), lastOf({}), agent('t'), other])).toEqual([
    expect.stringMatching(/^the span has no gen_ai.input.messages .* 1.37 or later: 2$/),
  ]);
  expect(await skippedOf([chat('t', 1, 'Hi', 'a'), lastOf(empty), agent('t'), other])).toEqual([
    'the span has no answer: 2',
  ]);
});

it('takes each conversation of a trace without agents that no other one continues', async () => {
  const root = { traceId: 't', spanId: 't-agent', name: 'POST /ticket', attributes: {} };
  const { attributes, ...span } = chat('t', 9, 'Hi', '');
  const failed = {
    ...span,
    attributes: { ...attributes, 'gen_ai.output.messages': undefined, 'error.type': 'timeout' },
  };
  const spans = [
    chat('t', 1, 'Classify', 'a'),
    chat('t', 2, 'Hi', 'a'),
    chat('t', 3, 'Hi', 'a', 'b', 'c'),
    failed,
    chat('t', 4, 'Translate', 'd'),
  ];
  for (const records of [[...spans, root], spans]) {
    const { rows, report } = await importLines(records);
    expect(rows).toMatchObject([
      { messages: [{ content: 'Classify' }, {}] },
      { messages: [{ content: 'Hi' }, {}, {}, { content: 'c' }] },
      { messages: [{ content: 'Translate' }, {}] },
    ]);
    expect(report.skipped).toEqual([]);
  }
});

it('takes answers that no later call of a trace without agents continues', async () => {
  const two = chat('t', 4, 'Hi', 'a');
  const choices = ['c', 'd'].flatMap((text) => said('', text).slice(1));
  two.attributes['gen_ai.output.messages'] = JSON.stringify(choices);
  const { rows, report } = await importLines([
    ...[chat('t', 1, 'Hi', 'a'), chat('t', 2, 'Hi', 'b'), chat('t', 3, 'Hi', 'd', 'e', 'f')],
    ...[two, chat('t', 5, 'z'), answering(6)],
  ]);
  const texts = (rows as unknown as { messages: { content: string | null }[] }[]).map((row) =>
    row.messages.map(({ content }) => content ?? ''),
  );
  expect(texts).toEqual([
    ...[['Hi', 'a'], ['Hi', 'b'], ['Hi', 'd', 'e', 'f'], ['Hi', 'c'], ['z']],
    ['Hi', '', 'sunny', 'b'],
  ]);
  expect(report.skipped).toEqual([]);
});

it('takes thousands of calls of one trace that begin alike', async () => {
  // Comparing each of them with each other one would take minutes.
  const rules = 'x'.repeat(8000);
  const calls = Array.from({ length: 3000 }, (_, i) =>
    chat('t', i + 1, i % 2 === 0 ? rules : `${rules}${i}`, `answer ${i}`),
  );
  const { report } = await importLines(calls);
  expect(report).toMatchObject({ written: 3000, skipped: [] });
});

/** A call of a tool, whose arguments have these spaces. */
const asking = (end: number, space: string, ...texts: readonly string[]) => {
  const span = chat('t', end, ...texts, '');
  const call = { type: 'tool_call', id: '1', name: 'f', arguments: `{"city":${space}"Paris"}` };
  const output = JSON.stringify([{ role: 'assistant', parts: [call] }]);
  return { ...span, attributes: { ...span.attributes, 'gen_ai.output.messages': output } };
};

/** The call that continues `asking`, with other spaces in the arguments. */
const answering = (end: number) => {
  const { attributes, ...span } = chat('t', end, 'b');
  const [call] = JSON.parse(asking(1, ' ', 'Hi').attributes['gen_ai.output.messages']) as unknown[];
  const result = { type: 'tool_call_response', id: '1', result: 'sunny' };
  const messages = [...said('Hi'), call, { role: 'tool', parts: [result] }];
  return {
    ...span,
    attributes: { ...attributes, 'gen_ai.input.messages': JSON.stringify(messages) },
  };
};

it('takes no call of a tool that a later call continues, failed or with other spaces', async () => {
  const { rows } = await importLines([asking(1, '', 'Hi'), answering(2)]);
  expect(rows).toMatchObject([{ messages: [{}, {}, {}, { content: 'b' }] }]);
  const [failed, other] = [answering(2), chat('other', 1, 'Hi', 'a')];
  failed.attributes['gen_ai.output.messages'] = '[]';
  const skipped = await skippedOf([asking(1, '', 'Hi'), { ...failed, status: { code: 2 } }, other]);
  expect(skipped).toEqual(['the call failed: 2']);
});

it('takes the conversation before a failed call, and those with other instructions', async () => {
  const { attributes, ...span } = chat('t', 3, 'Hi', 'a', 'b', '');
  const failed = { ...attributes, 'gen_ai.output.messages': '[]', 'error.type': 'timeout' };
  const instructed = {
    ...chat('t', 4, 'Hi', 'A'),
    attributes: {
      ...chat('t', 4, 'Hi', 'A').attributes,
      'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: 'Shout.' }]),
    },
  };
  const { rows, report } = await importLines([
    ...[chat('t', 1, 'Hi', 'a'), chat('t', 2, 'Hi', 'b'), instructed],
    { ...span, attributes: failed },
  ]);
  expect(rows).toMatchObject([
    { messages: [{ content: 'Hi' }, { content: 'a' }] },
    { messages: [{ content: 'Hi' }, { content: 'b' }] },
    { messages: [{ content: 'Shout.' }, { content: 'Hi' }, { content: 'A' }] },
  ]);
  expect(reasonsOf(report)).toEqual(['the call failed: 4']);
});

it('names a trace that has evaluations only', async () => {
  const name = 'gen_ai.evaluation.result';
  const log = { traceId: 'u', spanId: 's', eventName: name, attributes: [] };
  const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [log] }] }] };
  expect(await skippedOf([chat('t', 1, 'Hi', 'a'), logs])).toEqual([
    'the trace has evaluations or messages, but no spans: 2',
  ]);
});

it('reads ids beside a context of another kind', async () => {
  const { rows } = await importLines([{ ...chat('t', 1, 'Hi', 'a'), context: { foo: 1 } }]);
  expect(rows).toHaveLength(1);
});

it('names records without spans, and traces without a call', async () => {
  const other = {
    traceId: 'u',
    spanId: 's',
    name: 'ai.generateText',
    attributes: { 'ai.prompt': 'Hi' },
  };
  const { report } = await importLines([chat('t', 1, 'Hi', 'a'), other, { foo: 1 }]);
  expect(report.written).toBe(1);
  expect(report.skipped).toMatchObject([
    { reason: expect.stringContaining('the record has no spans') as string, first: [{ line: 3 }] },
    {
      reason: expect.stringMatching(
        /^no span has a gen_ai.operation.name .* export with the GenAI/,
      ) as string,
      first: [{ line: 2, detail: 'ai.generateText' }],
    },
  ]);
});

it('reads the spans of the Python SDK', async () => {
  const spans = [
    ['Hi', 'a'],
    ['Ho', 'b'],
    ['Hi', 'a', 'b', 'c'],
    ['He', ''],
  ].map((texts, i) => ({
    name: 'chat',
    context: { trace_id: '0x1', span_id: `0x${i}` },
    parent_id: '0xa',
    // The second call ends last.
    end_time: `2026-11-30T14:06:4${i === 1 ? 9 : i}.042912Z`,
    status: { status_code: i === 3 ? 'ERROR' : 'UNSET', description: 'timeout' },
    attributes: {
      ...chat('', 0, ...texts).attributes,
      ...(i === 3 && { 'gen_ai.output.messages': '[]' }),
    },
  }));
  const top = {
    context: { trace_id: '0x1', span_id: '0xa' },
    parent_id: null,
    attributes: { 'gen_ai.operation.name': 'invoke_agent' },
  };
  const { rows } = await importLines([...spans, top]);
  expect(rows).toMatchObject([{ messages: [{ content: 'Ho' }, { content: 'b' }] }]);
  const { report } = await importLines(spans);
  expect(report.written).toBe(2);
  expect(report.skipped).toMatchObject([
    { reason: 'the call failed', first: [{ detail: '"timeout"' }] },
  ]);
});

it('reads messages that events record', async () => {
  const { attributes, ...span } = chat('t', 1, 'Hi', 'a');
  const empty = { ...span, attributes: { 'gen_ai.operation.name': 'chat' } };
  const name = 'gen_ai.client.inference.operation.details';
  const log = {
    traceId: 't',
    spanId: span.spanId,
    eventName: name,
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  };
  const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [log] }] }] };
  for (const records of [
    [{ ...empty, events: [{ name, attributes }] }],
    [empty, logs],
    [logs, empty],
  ]) {
    const { rows, report } = await importLines(records);
    expect(rows).toMatchObject([{ messages: [{ content: 'Hi' }, { content: 'a' }] }]);
    expect(report.skipped).toEqual([]);
  }
});

it('closes no trace of one source for those of another', async () => {
  const folder = temporaryFolder();
  const traces = Array.from({ length: 1001 }, (_, i) => `t${i}`);
  const generation = (traceId: string) => ({
    id: `${traceId}-g`,
    traceId,
    type: 'GENERATION',
    input: [{ role: 'user', content: traceId }],
    output: { role: 'assistant', content: 'Hello.' },
  });
  const files = {
    'a.jsonl': traces.map(generation),
    'b.jsonl': [chat('other', 1, 'Hi', 'Hello.')],
    'c.jsonl': traces.map((traceId) => ({ traceId, name: 'quality', value: 1 })),
  };
  for (const [name, records] of Object.entries(files))
    writeFileSync(path.join(folder, name), records.map((one) => JSON.stringify(one)).join('\n'));
  const { report } = await importFrom(folder);
  expect(report).toMatchObject({ written: 1002, skipped: [] });
});

it('makes pairs of answers to one prompt that have different scores', async () => {
  const scored = (id: string, answer: string, value: number) => ({
    ...chat(id, 1, 'Hi', answer),
    events: [
      { name: 'gen_ai.evaluation.result', attributes: { 'gen_ai.evaluation.score.value': value } },
    ],
  });
  const { rows, report } = await importLines(
    [
      scored('t1', 'Go away.', 0),
      scored('t2', 'Hello.', 1),
      scored('t3', 'Hm.', 0.5),
      chat('t4', 1, 'Hi', 'Hi.'),
    ],
    { as: 'dpo' },
  );
  const answer = (content: string) => [{ role: 'assistant', content }];
  expect(rows).toEqual([
    {
      prompt: [{ role: 'user', content: 'Hi' }],
      chosen: answer('Hello.'),
      rejected: answer('Go away.'),
    },
  ]);
  expect(reasonsOf(report)).toEqual(['the answer has no score, and so no pair: 4']);
});

it.each(['CATEGORICAL', 'CORRECTION', 'TEXT'])(
  'takes no score of Langfuse of the type %s for a grade',
  async (dataType) => {
    const records = [
      ...generationsOf({ t1: 'Hello.', t2: 'Hm.' }),
      { traceId: 't1', name: 'quality', value: 1, dataType: 'NUMERIC' },
      { traceId: 't1', name: 'topic', value: 0, stringValue: 'greeting', dataType },
      { traceId: 't2', name: 'quality', value: 0.6, dataType: 'NUMERIC' },
    ];
    const { rows, report } = await importLines(records, { as: 'dpo' });
    expect(rows).toMatchObject([{ chosen: [{ content: 'Hello.' }] }]);
    expect(reasonsOf(report)).toEqual([
      'the score is a label, a text or a correction instead of a grade: 4',
    ]);
  },
);

/** Runs of LangSmith, one per trace, that answer the same prompt and have this feedback. */
const runsOf = (
  answers: Readonly<Record<string, readonly [string, Readonly<Record<string, number>>]>>,
) =>
  Object.entries(answers).map(([id, [content, feedback]]) => ({
    ...{ id, trace_id: id, run_type: 'llm' },
    inputs: { messages: [{ role: 'user', content: 'Hi' }] },
    outputs: { choices: [{ message: { role: 'assistant', content } }] },
    feedback_stats: Object.fromEntries(
      Object.entries(feedback).map(([name, avg]) => [name, { n: 1, avg }]),
    ),
  }));

it('counts the feedback on the top of a trace of LangSmith for its calls', async () => {
  const runs = runsOf({ a: ['Hello.', {}], b: ['Hm.', { user: 1 }] });
  const traced = runs.flatMap((run, i) => {
    const [top, avg] = [`${run.id}-top`, 1 - i];
    const chain = {
      ...{ id: top, trace_id: top, run_type: 'chain', inputs: {} },
      feedback_stats: { user: { n: 1, avg }, tone: { n: 1, avg: null } },
    };
    return [{ ...run, trace_id: top, parent_run_id: top }, chain];
  });
  const lone = { ...traced[1], id: 'lone', trace_id: 'lone' };
  const inner = { ...traced[1], id: 'inner' };
  const { rows, report } = await importLines([...traced, lone, inner], { as: 'dpo' });
  expect(rows).toMatchObject([{ chosen: [{ content: 'Hello.' }], rejected: [{ content: 'Hm.' }] }]);
  expect(report.scores).toEqual({ user: { count: 3, least: 0, most: 1 } });
  expect(reasonsOf(report)).toEqual([
    'the run is not a call of a model, and its feedback is not read: 6',
    'the run is not a call of a model: 5',
  ]);
});

it('makes pairs by one score, and counts pairs whose scores have different names', async () => {
  const records = runsOf({
    a: ['Good.', { user: 1, cost: 0.001 }],
    b: ['Bad.', { user: 0.6 }],
    c: ['Free.', { cost: 0, 'a\u001b[31mb': 1 / 3 }],
  });
  const mean = await importLines(records.slice(0, 2), { as: 'dpo' });
  expect(mean.rows).toMatchObject([{ chosen: [{ content: 'Bad.' }] }]);
  expect(mean.report.unlikePairs).toBe(1);
  const text = renderImport(mean.report);
  expect(text).toMatch(/^ *scores of answers +user 2 \(0.6 to 1\), cost 1 \(0.001\)$/m);
  expect(text).toContain(
    'Compared by scores of different names: 1 pair. Choose one score with --score NAME.',
  );
  const { rows, report } = await importLines(records, { as: 'dpo', score: 'user' });
  expect(rows).toMatchObject([{ chosen: [{ content: 'Good.' }] }]);
  expect(report.unlikePairs).toBe(0);
  expect(renderImport(report)).not.toContain('different names');
  expect(renderImport(report)).toContain(String.raw`, "a\u001b[31mb" 1 (0.333)`);
  expect(report.skipped).toMatchObject([
    {
      reason: 'the answer has no score user, and so no pair',
      first: [{ detail: String.raw`["cost","a\u001b[31mb"]` }],
    },
  ]);
  await expect(importLines(records, { score: 'user' })).rejects.toThrow(
    '--score user needs --as dpo',
  );
});

it('counts no pair with scores of different names that was dropped', async () => {
  const records = runsOf({ a: ['Good.', { user: 1 }], b: ['Bad.', { cost: 0 }] });
  const pair = {
    prompt: [prompted('Hi')],
    ...{ chosen: [answered('Good.')], rejected: [answered('Bad.')] },
  };
  const folder = temporaryFolder();
  const write = (name: string, lines: readonly object[]) =>
    writeFileSync(path.join(folder, name), lines.map((one) => JSON.stringify(one)).join('\n'));
  write('pairs.jsonl', [pair]);
  write('runs.jsonl', records);
  const { report } = await importFrom(folder, { as: 'dpo' });
  expect(report).toMatchObject({ written: 1, duplicates: 1, unlikePairs: 0 });
});

it('refuses a score if the records are pairs already', async () => {
  const pair = { prompt: 'Hi', chosen: 'Good.', rejected: 'Bad.' };
  await expect(importLines([pair], { as: 'dpo', score: 'user' })).rejects.toThrow(
    '--score user (importRows: score) chooses the answers of pairs, but the records are pairs already.',
  );
});

it('names scores of Langfuse of calls that later calls continue', async () => {
  const generation = (id: string, input: readonly object[], output: string) => ({
    ...{ id, traceId: 't', type: 'GENERATION' },
    ...{ input, output: answered(output) },
  });
  const first = generation('a', [prompted('Hi')], 'Hello.');
  const second = generation('b', [prompted('Hi'), answered('Hello.'), prompted('Bye')], 'Bye.');
  const score = { traceId: 't', observationId: 'a', name: 'quality', value: 1 };
  const { rows, report } = await importLines([first, second, score]);
  expect(rows).toHaveLength(1);
  expect(reasonsOf(report)).toEqual(['the score is of a call that a later call continues: 3']);
});

it('names scores of Langfuse that are of no generation', async () => {
  const records = [
    ...generationsOf({ t1: 'Hello.' }),
    { traceId: 't1', observationId: 't1-g', name: 'quality', value: 1 },
    { traceId: 't1', observationId: 'tool', name: 'quality', value: 0 },
    { traceId: 't2', name: 'quality', value: 0 },
  ];
  const { report } = await importLines(records);
  expect(report).toMatchObject({ written: 1, withScore: 1 });
  expect(reasonsOf(report)).toEqual(['the score is not of a call of a model: 3, 4']);
});

it('reads the names of evaluations in spans', async () => {
  const evaluation = (value: number, name?: string) => ({
    name: 'gen_ai.evaluation.result',
    attributes: {
      'gen_ai.evaluation.score.value': value,
      ...(name !== undefined && { 'gen_ai.evaluation.name': name }),
    },
  });
  const events = [evaluation(1, 'quality'), evaluation(0.5)];
  const { report } = await importLines([{ ...chat('t', 1, 'Hi', 'a'), events }]);
  expect(report.scores).toEqual({
    quality: { count: 1, least: 1, most: 1 },
    score: { count: 1, least: 0.5, most: 0.5 },
  });
});

const answered = (content: string) => ({ role: 'assistant', content });
const prompted = (content: string) => ({ role: 'user', content });

it.each<readonly [string, (output: unknown) => object]>([
  ['langfuse', (output) => ({ traceId: 't', type: 'GENERATION', input: 'Hi', output })],
  ['langsmith', (outputs) => ({ run_type: 'llm', inputs: [prompted('Hi')], outputs })],
  [
    'braintrust',
    (output) => ({ input: 'Hi', output, scores: {}, span_attributes: { type: 'llm' } }),
  ],
])('takes several answers of one call of %s for no conversation', async (_, record) => {
  const turns = [answered('a'), prompted('b'), answered('c')];
  const choice = (content: string) => ({ message: answered(content), finish_reason: 'stop' });
  const outputs = [[answered('a'), answered('b')], [choice('a'), choice('b')], [choice('d')]];
  const { rows, report } = await importLines(
    [turns, ...outputs, JSON.stringify(outputs[2])].map(record),
  );
  const messages = [prompted('Hi'), ...turns];
  expect(rows).toEqual([{ messages }, { messages: [prompted('Hi'), answered('d')] }]);
  expect(report.duplicates).toBe(1);
  expect(reasonsOf(report)).toEqual(['one call has several answers: 2, 3']);
});

it('reads the tools that the Langfuse handler of LangChain adds to the messages', async () => {
  const tools = [{ name: 'f' }, { name: 'g', parameters: { type: 'object' } }].map((one) => ({
    type: 'function',
    function: one,
  }));
  const called = {
    ...answered(''),
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
  };
  const result = { role: 'tool', content: '7', tool_call_id: 'c' };
  const messages = [prompted('Hi'), called, result];
  const given = [...tools.slice(0, 1), { name: 'g', input_schema: { type: 'object' } }];
  const input = [...messages, ...given.map((content) => ({ role: 'tool', content }))];
  const record = { traceId: 't', type: 'GENERATION', input, output: answered('a') };
  const { rows } = await importLines([record]);
  expect(rows).toEqual([{ messages: [...messages, answered('a')], tools }]);
});

it('takes no result of a tool for the definition of one', async () => {
  const contents = [{ name: 'Oslo', temp: 3 }, { function: 'f' }, { type: 'function' }];
  const records = contents.map((content) => ({
    ...{ traceId: 't', type: 'GENERATION', output: answered('a') },
    input: [prompted('Hi'), { role: 'tool', content }],
  }));
  await expect(importLines(records)).rejects.toThrow('a message has content other than text');
});

it('takes the last call of an agent whose history spells arguments in another way', async () => {
  const called = (args: string) => ({
    ...answered(''),
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }],
  });
  const result = { role: 'tool', content: '7', tool_call_id: 'c' };
  const generation = (id: string, input: readonly object[], output: object) => ({
    ...{ id, traceId: 't', type: 'GENERATION' },
    ...{ input, output },
  });
  const calls = ['{"a":1}', '{"a":2}'].map((args, i) =>
    generation(`${i}`, [prompted('Hi')], called(args)),
  );
  const last = generation('2', [prompted('Hi'), called('{ "a": 1 }'), result], answered('a'));
  const { rows } = await importLines([...calls, last]);
  expect(rows).toMatchObject([
    { messages: [{}, called('{"a":2}')] },
    { messages: [{}, {}, {}, answered('a')] },
  ]);
});

describe('spans of Braintrust', () => {
  const span = (id: string, type: string, parent: string | null, fields: object) => ({
    ...{ span_id: id, root_span_id: 't', span_parents: parent === null ? null : [parent] },
    ...{ span_attributes: { type }, expected: null, scores: null, ...fields },
  });
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const said = [{ role: 'system', content: 'Be brief.' }, prompted('2+2?')];
  const top = { input: '2+2?', output: '4', scores: { exact: 1 } };
  const choices = [{ finish_reason: 'stop', index: 0, message: answered('4') }];
  const spans = (expected: string | null) => [
    span('a', 'eval', null, { ...top, expected }),
    span('b', 'task', 'a', { input: '2+2?', output: '4' }),
    span('c', 'llm', 'b', { input: said, output: choices, metadata: { tools } }),
    span('d', 'llm', 'b', { input: said, output: null, error: 'timeout' }),
    span('e', 'score', 'a', { input: {}, output: {}, scores: { exact: 1 } }),
    span('f', 'function', 'e', { input: 'Is 4 right?', output: 'Yes' }),
    span('g', 'llm', 'f', { input: 'Is 4 right?', output: 'Yes' }),
    span('h', 'llm', 'a', {
      ...{ input: 'Is 4 right?', output: 'Yes' },
      span_attributes: { type: 'llm', purpose: 'scorer' },
    }),
  ];
  const task = { messages: [prompted('2+2?')], question: '2+2?', answer: '4' };
  const call = { messages: [...said, answered('4')], tools };

  it.each([
    ['the top of an evaluation', '4', undefined, task],
    ['the top of an evaluation', '4', 'tasks', task],
    ['the calls of an evaluation', '4', 'sft', call],
    ['the calls of a log', null, undefined, call],
  ] as const)('give %s, with the expected answer %j as %s', async (_, expected, as, row) => {
    const { rows, report } = await importLines(spans(expected), as && { as });
    expect(rows).toEqual([row]);
    expect(report.withScore).toBe(1);
    expect(report.scores).toEqual({ exact: { count: 1, least: 1, most: 1 } });
    expect(reasonsOf(report)).toEqual([
      'the span belongs to a scorer: 5, 6, 7, 8',
      'the span is only a step between others: 2',
      'the call has no output: 4',
    ]);
  });

  it('give no rows of tools, although these have scores', async () => {
    const tool = span('t', 'tool', 'b', { input: 'q', output: 'Page 1', scores: { relevance: 1 } });
    const { rows, report } = await importLines([...spans(null), tool]);
    expect(rows).toEqual([call]);
    expect(reasonsOf(report)).toContain('the span is only a step between others: 2, 9');
  });

  it('give the top of a trace without calls, and calls without a top', async () => {
    const [first, , third] = spans('4');
    expect((await importLines([first], { as: 'sft' })).rows).toEqual([
      { messages: [prompted('2+2?'), answered('4')] },
    ]);
    const lone = { ...third, root_span_id: 'u' };
    const { rows } = await importLines([first, lone], { as: 'tasks' });
    expect(rows).toMatchObject([task, { messages: said, system: 'Be brief.' }]);
  });

  it.each([
    [null, '4', 'sft'],
    ['4', null, 'tasks'],
  ] as const)('are of the kind of the first trace: %j, then %j', async (one, other, kind) => {
    const second = spans(other).map((given) => ({ ...given, root_span_id: 'u' }));
    const { rows, report } = await importLines([...spans(one), ...second]);
    expect(report.as).toBe(kind);
    const { answer: _, ...unanswered } = task;
    expect(rows).toEqual(kind === 'sft' ? [call] : [task, unanswered]);
    expect(report.duplicates).toBe(kind === 'sft' ? 1 : 0);
  });

  it('give one task for a call that is the top, and the call below it with its scores', async () => {
    const traced = [
      span('a', 'llm', null, { ...top, expected: '4' }),
      span('b', 'llm', 'a', { input: said, output: choices, metadata: { tools } }),
    ];
    expect((await importLines(traced)).rows).toEqual([task]);
    const { rows, report } = await importLines(traced, { as: 'sft' });
    expect(rows).toEqual([call]);
    expect(report.withScore).toBe(1);
  });

  it.each(['tasks', 'sft'] as const)('give %s of each of several tops', async (as) => {
    const tops = ['1', '2'].map((id) => span(id, 'task', null, { input: id, output: id }));
    const { rows } = await importLines(tops, { as });
    const answers = (id: string) => (as === 'sft' ? [answered(id)] : []);
    expect(rows).toMatchObject(
      tops.map(({ span_id: id }) => ({ messages: [prompted(id), ...answers(id)] })),
    );
  });

  it('give tasks of spans with an expected answer, and rows of spans with scores', async () => {
    const marked = [
      span('a', 'task', null, { input: '1', output: '1' }),
      span('b', 'function', 'a', { input: '2', output: '2', expected: '2' }),
      span('c', 'function', 'a', { input: '3', output: '3', scores: { ok: 1 } }),
      span('d', 'function', 'a', { input: '4', output: '4' }),
    ];
    const tasks = await importLines(marked);
    expect(tasks.rows).toMatchObject([{ question: '1' }, { question: '2', answer: '2' }]);
    const { rows, report } = await importLines(marked, { as: 'sft' });
    expect(rows).toMatchObject(
      ['1', '2', '3'].map((content) => ({ messages: [{ content }, { content }] })),
    );
    expect(report.withScore).toBe(1);
  });

  it('give tasks of the calls where the input of the top is no prompt', async () => {
    const [first, ...others] = spans(null);
    const records = [{ ...first, input: { question: '2+2?', notes: [] } }, ...others];
    const { rows } = await importLines(records, { as: 'tasks' });
    expect(rows).toMatchObject([{ messages: said, system: 'Be brief.', tools }]);
  });

  it('read no output for a task', async () => {
    const output = { label: 'x', p: 1 };
    const { rows } = await importLines([
      span('a', 'eval', null, { input: '2+2?', output, expected: '4' }),
    ]);
    expect(rows).toEqual([task]);
  });

  it('have the system message first where the Anthropic wrapper has it last', async () => {
    const [system, ...question] = said;
    const use = {
      ...answered(''),
      content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }],
    };
    const result = {
      ...prompted(''),
      content: [{ type: 'tool_result', tool_use_id: 'c', content: '4' }],
    };
    const calls = [
      { input: [...question, system], output: use },
      { input: [...question, use, result, system], output: answered('It is 4.') },
    ].map((fields, i) => span(`${i}`, 'llm', 'gone', fields));
    const { rows } = await importLines(calls);
    expect(rows).toMatchObject([
      { messages: [...said, { role: 'assistant' }, { role: 'tool' }, answered('It is 4.')] },
    ]);
  });
});

it('reads metadata and output of a plain row of Braintrust as the user wrote them', async () => {
  const records = [['search'], 'search, calc', { search: true }].map((tools, i) => ({
    ...{ input: `q${i}`, expected: 'a', metadata: { tools } },
    output: [answered('one'), answered('two')],
  }));
  const { rows } = await importLines(records);
  expect(rows).toEqual(
    records.map(({ input }) => ({
      ...{ messages: [prompted(input)], question: input },
      answer: 'a',
    })),
  );
});
