import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
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
