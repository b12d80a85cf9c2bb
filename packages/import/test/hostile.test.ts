/** Invalid records, which the report names by their lines. */
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { importRows } from '../src/index.js';
import { importFrom, importLines, reasonsOf, rowsOf, temporaryFolder } from './support.js';

const user = { role: 'user', content: 'Hi' };
const good = { messages: [user, { role: 'assistant', content: 'Hello' }] };
const answered = (answer: object) => ({ messages: [user, { role: 'assistant', ...answer }] });
const called = (args: unknown) =>
  answered({
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }],
  });

describe('a record that is wrong', () => {
  it.each<readonly [string, unknown]>([
    ['the line is not JSON', '{"messages": ['],
    ['the record is not an object', '[1]'],
    ['the line is not JSON', `{"messages":${'['.repeat(1e5)}${']'.repeat(1e5)}}`],
    ['the line is not JSON', `{"messages":[],"a":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}`],
    ['the messages are not a list', {}],
    ['the list of messages is empty', { messages: [] }],
    ['JSON text is cut off or malformed: the messages', { messages: '[{"role":"us' }],
    ['a message is not an object', { messages: ['Hi'] }],
    ['a message has no role', { messages: [{ content: 'Hi' }] }],
    ['a message has an unknown role', { messages: [{ role: 'toString', content: 'Hi' }] }],
    ['a message has no content', { messages: [{ role: 'user' }] }],
    [
      'a message has content other than text',
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
    ],
    ['an answer has neither content nor tool calls', answered({ content: null })],
    ['an answer is empty', answered({ content: '' })],
    ['a weight is neither 0 nor 1', answered({ content: 'x', weight: 0.5 })],
    ['every answer has weight 0', answered({ content: 'x', weight: 0 })],
    ['the conversation does not end with an answer', { messages: [user] }],
    ['JSON text is cut off or malformed: the arguments of a tool call', called('{"a":')],
    ['the arguments of a tool call are not an object', called('[1]')],
    [
      'JSON text is cut off or malformed: the arguments of a tool call',
      called(`{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`),
    ],
    ['the tools are not a list', { ...good, tools: {} }],
    ['a tool has no name', { ...good, tools: [{}] }],
    ['the answer is empty', { prompt: 'Hi', chosen: '', rejected: 'x' }],
    ['system is neither a text nor parts', { ...good, system: { text: 'Be brief.' } }],
  ])('is skipped: %s', async (reason, record) => {
    const { report, rows } = await importLines([good, record, good], { as: 'sft' });
    expect(rows).toEqual([good]);
    expect(report).toMatchObject({ read: 3, written: 1, duplicates: 1 });
    expect(reasonsOf(report)).toEqual([`${reason}: 2`]);
  });

  it('is said to be missing where a file holds none', async () => {
    await expect(importLines(['', ' '])).rejects.toThrow('holds no records');
  });

  it('leaves texts that are JSON as they are', async () => {
    const record = { prompt: '{"task": "label"}', completion: '{"answer": "cat", "score": 1}' };
    const { rows } = await importLines([record]);
    expect(rows).toEqual([
      {
        messages: [
          { role: 'user', content: record.prompt },
          { role: 'assistant', content: record.completion },
        ],
      },
    ]);
  });

  it.each([
    ['the prompt is an object without messages', { question: 'Who?', context: 'We.' }, 'I'],
    ['the answer is an object without a text', 'Who?', { answer: 'I', sources: [] }],
  ])('is skipped where it would be guessed: %s', async (reason, input, output) => {
    const scores = { right: 1 };
    const { report } = await importLines([
      { input: 'Hi', output: 'Hello', scores },
      { input, output, scores },
    ]);
    expect(reasonsOf(report)).toEqual([`${reason}: 2`]);
  });

  it('keeps the digits of whole numbers above 2^53, in arguments as well', async () => {
    const args = '{"id":9007199254740993}';
    const { rows } = await importLines(
      [`{"messages":[{"role":"user","content":"Hi"}],"id":9007199254740993}`, called(args)],
      { as: 'tasks' },
    );
    expect(rows[0]).toMatchObject({ id: '9007199254740993' });
    const calls = await importLines([called(args)]);
    expect(JSON.stringify(calls.rows)).toContain('9007199254740993');
  });

  it('keeps these digits in YAML as well', async () => {
    const from = path.join(temporaryFolder(), 'tests.yaml');
    writeFileSync(
      from,
      'prompts: ["{{id}} {{n}} {{h}}"]\ntests: [vars: {id: 9007199254740993, n: -7, h: 0x10, f: 1.5, 3: 4}]',
    );
    const { rows } = await importFrom(from);
    expect(rows).toMatchObject([
      {
        question: '9007199254740993 -7 16',
        vars: { id: '9007199254740993', n: -7, h: 16, f: 1.5, 3: 4 },
      },
    ]);
  });

  it('merges the keys of anchors in YAML', async () => {
    const from = path.join(temporaryFolder(), 'tests.yaml');
    writeFileSync(
      from,
      [
        'prompts: ["{{a}}"]',
        'base: &base',
        '  assert: [{ type: contains, value: 7 }]',
        'tests:',
        '  - <<: *base',
        '    vars: { a: Hi }',
      ].join('\n'),
    );
    const { rows, report } = await importFrom(from);
    expect(rows).toMatchObject([{ question: 'Hi', assert: [{ type: 'contains', value: 7 }] }]);
    expect(reasonsOf(report)).toEqual([]);
  });

  it('reads a byte order mark, CRLF, empty lines, gzip and the role of every vendor', async () => {
    const file = path.join(temporaryFolder(), 'rows.jsonl.gz');
    const text = `\uFEFF${JSON.stringify(good)}\r\n\r\n${JSON.stringify({
      messages: [
        { role: 'human', content: 'Hi' },
        { role: 'ai', content: 'Hello' },
        { role: 'human', content: 'Hi' },
        { role: 'model', content: [{ type: 'text', text: 'Hello' }] },
      ],
    })}`;
    writeFileSync(file, gzipSync(text));
    const { rows, report } = await importFrom(file);
    expect(rows).toEqual([good, { messages: [...good.messages, ...good.messages] }]);
    expect(report.skipped).toEqual([]);
  });

  it.each(['', '007', '1.5', null, {}])(
    'leaves the attributes of a span as they are: %j',
    async (intValue) => {
      const messages = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Hi' }] }]);
      const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
      const attributes = [
        { key: 'gen_ai.usage.input_tokens', value: { intValue } },
        text('gen_ai.operation.name', 'chat'),
        text('gen_ai.input.messages', messages),
        text('gen_ai.output.messages', messages.replace('user', 'assistant')),
      ];
      const spans = [{ traceId: 't', spanId: 's', attributes }];
      const { rows } = await importLines([{ resourceSpans: [{ scopeSpans: [{ spans }] }] }]);
      expect(rows).toEqual([
        {
          messages: [
            { role: 'user', content: 'Hi' },
            { role: 'assistant', content: 'Hi' },
          ],
        },
      ]);
    },
  );

  it('is named when its bytes are no UTF-8', async () => {
    const file = path.join(temporaryFolder(), 'rows.jsonl');
    writeFileSync(file, Buffer.concat([Buffer.from(`${JSON.stringify(good)}\n`), Buffer.of(0xff)]));
    expect(reasonsOf((await importFrom(file)).report)).toEqual(['the line is not UTF-8: 2']);
  });
});

describe('an import of nothing', () => {
  it('lists the reasons with file and line, and leaves no file behind', async () => {
    const folder = temporaryFolder();
    const from = path.join(folder, 'rows.jsonl');
    writeFileSync(from, '{"messages": []}\nnope\n');
    const error = importRows({ from, output: path.join(folder, 'out.jsonl') });
    await expect(error).rejects.toMatchObject({ name: 'ConfigError', code: 'IMPORT_NOTHING' });
    await expect(error).rejects.toThrow(`1 x the list of messages is empty: ${from}:1`);
    expect(readdirSync(folder)).toEqual(['rows.jsonl']);
  });

  it('lists what was tried when no source recognises the file', async () => {
    const error = importLines([{ a: 1 }]);
    await expect(error).rejects.toThrow(/no source recognises .*\n.*otel: resourceSpans/);
  });

  it.each([
    ['rows.json', '[{"messages": [}]\n', '1 x the item is not JSON: FILE:1'],
    ['rows.jsonl', '{"messages"}\n{"a": 1}', '1 x the line is not JSON: FILE:1'],
    ['rows.json', '{\n"messages": [],\n}', '1 x the file is not JSON: FILE:1'],
    ['tests.yaml', 'prompts: [a\ntests: []', '1 x the file is not YAML: FILE:1'],
    ['tests.yaml', 'prompts: a\n---\nprompts: b', '1 x the file is not YAML: FILE:1'],
  ])('names what cannot be read in %s: %j', async (name, text, problem) => {
    const from = path.join(temporaryFolder(), name);
    writeFileSync(from, text);
    const error = await importFrom(from).then(() => '', String);
    expect(error).toContain(problem.replace('FILE', from));
    expect(error.includes('no source recognises')).toBe(text.includes('{"a": 1}'));
  });

  it.each([
    ['rows.csv', 'has no header of CSV: quotes are not closed'],
    ['rows.parquet', 'unknown kind'],
  ])('refuses %s by name', async (name, problem) => {
    const from = path.join(temporaryFolder(), name);
    writeFileSync(from, '"a,b');
    await expect(importFrom(from)).rejects.toThrow(problem);
  });
});

it('splits by the hash of the row, in any order', async () => {
  const records = Array.from({ length: 400 }, (_, i) => answered({ content: `${i}` }));
  const one = await importLines(records, { validation: 0.25 });
  const other = await importLines(records.toReversed(), { validation: 0.25 });
  expect(one.report.validation).toBe(one.validation.length);
  expect(one.validation.length).toBeGreaterThan(60);
  expect(one.validation.length).toBeLessThan(140);
  expect(other.validation.toReversed()).toEqual(one.validation);
  expect(one.rows.length + one.validation.length).toBe(400);
});

it('leaves no rows of an earlier split beside rows without one', async () => {
  const records = Array.from({ length: 40 }, (_, i) => answered({ content: `${i}` }));
  const { output } = await importLines(records, { validation: 0.25 });
  const from = path.join(path.dirname(output), 'records.json');
  writeFileSync(from, JSON.stringify(records));
  const before = rowsOf(output);
  await expect(importRows({ from, output })).rejects.toThrow('rows.validation.jsonl is part of');
  expect(rowsOf(output)).toEqual(before);
  expect((await importRows({ from, output, validation: 0.25 })).written).toBe(40);
});
