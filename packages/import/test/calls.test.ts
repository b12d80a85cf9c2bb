/** Tool calls wherever frameworks write them, with ids that fit the whole conversation. */
import { readFileSync } from 'node:fs';
import { readSupervisedRow, readTaskRows } from '@trinity-rft/buffer';
import { defaultFormatArgs, type ChatMessage } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { importLines, reasonsOf, type Row } from './support.js';

const user = { role: 'user', content: 'Hi' };
const inner = { name: 'f', arguments: '{"a":1}' };
const call = { id: 'c1', type: 'function', function: inner };
const part = { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } };
const parsed = { name: 'f', args: { a: 1 }, id: 'c1', type: 'tool_call' };

const messagesIn = (row: Row | undefined, key: string): readonly ChatMessage[] =>
  (row?.[key] ?? []) as readonly ChatMessage[];

describe('an answer of LangChain', () => {
  const message = (fields: object) => ({
    ...{ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'AIMessage'] },
    kwargs: { content: '', ...fields },
  });
  const run = (answer: object, id = '1') => ({
    ...{ id, run_type: 'llm', inputs: { messages: [user] } },
    outputs: { generations: [[{ text: '', message: answer }]] },
  });

  it.each<readonly [string, object]>([
    ['in the fields of the vendor', message({ additional_kwargs: { tool_calls: [call] } })],
    [
      'in the fields of the vendor beside an empty list',
      message({ tool_calls: [], additional_kwargs: { function_call: inner } }),
    ],
    [
      'in the message and in the fields of the vendor',
      message({ tool_calls: [parsed], additional_kwargs: { function_call: inner } }),
    ],
    ['in the message and in its parts', message({ tool_calls: [parsed], content: [part] })],
    [
      'in a message with its type and data',
      { type: 'ai', data: { content: '', additional_kwargs: { tool_calls: [call] } } },
    ],
    ['in a message without a role', { content: '', additional_kwargs: { tool_calls: [call] } }],
    ['in an old message without a role', { content: 'I call f.', function_call: inner }],
  ])('has its call once: %s', async (_, answer) => {
    const { rows } = await importLines([run(answer)]);
    const [, last] = messagesIn(rows[0], 'messages');
    expect(last?.tool_calls?.map((each) => each.function)).toEqual([inner]);
  });

  it('has the reasoning in the fields of the vendor', async () => {
    const thought = { reasoning_content: 'A greeting.' };
    const answer = message({ content: 'Hello', additional_kwargs: thought });
    const { rows } = await importLines([run(answer)]);
    expect(rows).toEqual([
      { messages: [user, { role: 'assistant', content: 'Hello', ...thought }] },
    ]);
  });

  it('is skipped if it is empty', async () => {
    const { report } = await importLines([
      run(message({ content: 'Hello' })),
      run(message({}), '2'),
    ]);
    expect(reasonsOf(report)).toEqual(['an answer is empty: 2']);
  });
});

it.each<readonly [string, object]>([
  ['the text of a completion', { text: '4', additional_kwargs: {}, raw: null }],
  ['a message', { message: { role: 'assistant', content: '4' }, additional_kwargs: {} }],
  ['a text without a call', { text: '4', function_call: null }],
  ['messages', { messages: [{ role: 'assistant', content: '4' }], additional_kwargs: {} }],
  ['choices', { choices: [{ message: { content: '4' } }], additional_kwargs: {} }],
])('an object with a key of calls gives the answer in it: %s', async (_, output) => {
  const { rows } = await importLines([
    { type: 'GENERATION', traceId: 't', id: 'g', input: [user], output },
  ]);
  expect(rows).toEqual([{ messages: [user, { role: 'assistant', content: '4' }] }]);
});

describe('calls without ids', () => {
  const bare = { function: inner };
  const said = (content: string | null, ...calls: readonly object[]) => ({
    ...{ role: 'assistant', content },
    ...(calls.length > 0 && { tool_calls: calls }),
  });
  const result = { role: 'tool', content: 'r' };
  const generation = (id: string, input: readonly object[], output: object) => ({
    ...{ type: 'GENERATION', traceId: 't', id },
    ...{ input, output },
  });

  it('get ids that are unique in prompt and answer, and results those of their calls', async () => {
    const input = [user, said('', bare), result, said('', { ...call, id: 'call_1' }), result];
    const { rows } = await importLines([generation('g', input, said('', bare))]);
    expect(
      messagesIn(rows[0], 'messages').map(
        (m) => m.tool_call_id ?? m.tool_calls?.map(({ id }) => id),
      ),
    ).toEqual([...[undefined, ['call_0'], 'call_0', ['call_1'], 'call_1'], ['call_2']]);
    expect(readSupervisedRow(rows[0]!, defaultFormatArgs)).toBeDefined();
  });

  it('get ids in both answers of a pair', async () => {
    const { rows } = await importLines([
      {
        input: { messages: [user, said('', bare), result] },
        preferred_output: [said('', bare), result, said('done')],
        non_preferred_output: [said('', bare, bare)],
      },
    ]);
    const ids = (key: string) =>
      messagesIn(rows[0], key).flatMap(
        (m) => m.tool_call_id ?? m.tool_calls?.map(({ id }) => id) ?? [],
      );
    expect(ids('prompt')).toEqual(['call_0', 'call_0']);
    expect(ids('chosen')).toEqual(['call_1', 'call_1']);
    expect(ids('rejected')).toEqual(['call_1', 'call_2']);
  });

  it.each<readonly [string, object, object]>([
    ['a text that is missing or empty', said(null, call), said('', call)],
    ['ids that only one of them has', said('', bare), said('', call)],
  ])('do not hide that a call repeats the history: %s', async (_, answer, repeated) => {
    const { report } = await importLines([
      generation('g1', [user], answer),
      generation('g2', [user, repeated, { ...result, tool_call_id: 'c1' }], said('done')),
    ]);
    expect(report.written).toBe(1);
  });
});

describe('a row of a table, whose objects have the members of all others', () => {
  const parameters = (properties: object) => ({ type: 'object', properties });
  const tool = (name: string, properties: object, more: object = {}) => ({
    type: 'function',
    function: { name, ...more, parameters: parameters(properties) },
  });
  const city = { type: 'string' };
  const f = tool('f', { city });
  const filled = tool('f', { city: { ...city, enum: null }, a: null }, { strict: null });
  const said = (args: unknown) => ({
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }],
  });
  const oslo = said('{"city":"Oslo"}');

  it.each<readonly [string, Row, Row]>([
    [
      'messages',
      { messages: [user, said({ city: 'Oslo', a: null })], tools: [filled] },
      { messages: [user, oslo], tools: [f] },
    ],
    [
      'a pair, with its tools as text',
      {
        prompt: [user],
        chosen: [said({ city: 'Oslo', a: null })],
        rejected: [said({ city: null, a: null })],
        tools: JSON.stringify([filled]),
      },
      { prompt: [user], chosen: [oslo], rejected: [said('{}')], tools: [f] },
    ],
    [
      'ShareGPT',
      {
        conversations: [
          { from: 'human', value: 'Hi' },
          { from: 'function_call', value: '{"name":"f","arguments":{"city":"Oslo","a":null}}' },
        ],
        tools: [{ name: 'f', parameters: filled.function.parameters }],
      },
      {
        messages: [user, { ...oslo, tool_calls: [{ ...oslo.tool_calls[0], id: 'call_0' }] }],
        tools: [f],
      },
    ],
  ])('has no arguments beyond those of its call: %s', async (_, record, expected) => {
    expect((await importLines([record])).rows).toEqual([expected]);
  });

  it('keeps arguments that are text, or of a tool that is not there', async () => {
    const text = said('{"city": "Oslo", "a": null}');
    const { rows } = await importLines([
      { messages: [user, text], tools: [f] },
      { messages: [user, said({ a: null })] },
    ]);
    expect(rows).toEqual([
      { messages: [user, text], tools: [f] },
      { messages: [user, said('{"a":null}')] },
    ]);
  });
});

it.each([false, true])(
  'whole numbers above 2^53 stay numbers in arguments, results and schemas; redact: %j',
  async (redact) => {
    const big = '1234567890123456789';
    const record = JSON.stringify({
      messages: [
        { ...user, content: redact ? 'I am a@b.org' : 'Hi' },
        { role: 'assistant', tool_calls: [{ name: 'f', args: { id: 'BIG', at: ['BIG'] } }] },
        { role: 'tool', content: [{ type: 'tool-result', result: { id: 'BIG' } }] },
        { role: 'assistant', content: 'Done' },
      ],
      tools: [{ name: 'f', parameters: { properties: { id: { maximum: 'BIG' }, at: {} } } }],
    });
    const { output } = await importLines([record.replaceAll('"BIG"', big)], { redact });
    const text = readFileSync(output, 'utf8');
    expect(text).toContain(String.raw`"arguments":"{\"id\":${big},\"at\":[${big}]}"`);
    expect(text).toContain(String.raw`"content":"{\"id\":${big}}"`);
    expect(text).toContain(`"maximum":${big}`);
    expect(text.includes('[email]')).toBe(redact);
    const [row] = await readTaskRows({ name: 'rows', path: output });
    expect(readSupervisedRow(row!, defaultFormatArgs).tools?.[0]?.parametersSource).toContain(
      `"maximum":${big}`,
    );
  },
);
