import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { MethodName } from '../wire/job-request.js';
import { checkRows } from './rows.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trinity-rows-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const rowOf = (content: string): string =>
  JSON.stringify({
    messages: [
      { role: 'user', content },
      { role: 'assistant', content: '2' },
    ],
  });

it.each([
  ['line ends of Unicode within texts', rowOf('a\u2028b\u2029c\u0085d'), 1],
  ['a byte order mark, CRLF and empty lines', `\uFEFF${rowOf('a')}\r\n\r\n \n${rowOf('b')}\r\n`, 2],
  [
    'lines that are longer than what is read at once',
    `${rowOf('x'.repeat(200_000))}\n`.repeat(3),
    3,
  ],
])('takes %s', async (_, text, count) => {
  const file = path.join(folder, 'rows.jsonl');
  await writeFile(file, text);
  expect(await checkRows(file, 'supervised')).toEqual({ count, faults: [] });
});

const user = { role: 'user', content: '1+1=' };
const answer = { role: 'assistant', content: '2' };
const image = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] };
const pair = {
  input: { messages: [user] },
  preferred_output: [answer],
  non_preferred_output: [{ ...answer, content: '3' }],
};

it.each<readonly [MethodName, object, string]>([
  ['supervised', { messages: [] }, 'messages: Too small'],
  ['supervised', { messages: [user, { ...answer, weight: 0 }] }, 'every answer has weight 0'],
  ['supervised', { messages: [{ role: 'user' }, answer] }, 'message 1 has neither content nor'],
  ['supervised', { messages: [image, answer] }, 'messages[0].content[0]'],
  ['supervised', { messages: [user, answer], tools: [{}] }, 'tool 1 has no function.name'],
  [
    'supervised',
    { messages: [user, { role: 'function', content: '2', name: 'f' }, answer] },
    'message 2 has the role "function"',
  ],
  ['dpo', { ...pair, preferred_output: [user] }, 'the last message is the user'],
  ['dpo', { ...pair, non_preferred_output: [{ ...answer, content: '' }] }, 'the answer is empty'],
  ['dpo', { ...pair, non_preferred_output: pair.preferred_output }, 'are the same'],
  ['dpo', { ...pair, input: { messages: [image] } }, 'messages[0].content[0]'],
  ['reinforcement', { messages: [image], truth: '2' }, 'messages[0].content[0]'],
])('refuses what a run cannot train on: %s of %j', async (method, row, problem) => {
  const file = path.join(folder, 'rows.jsonl');
  const good = {
    supervised: { messages: [user, answer] },
    dpo: pair,
    reinforcement: { messages: [user] },
  };
  await writeFile(file, [good[method], row].map((each) => JSON.stringify(each)).join('\n'));
  const { count, faults } = await checkRows(file, method);
  expect([count, faults]).toEqual([1, [expect.stringMatching(/^Line 2: .+[^.]\.$/)]]);
  expect(faults[0]).toContain(problem);
});
