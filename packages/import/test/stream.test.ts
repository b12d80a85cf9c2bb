/** 500 MB of rows in memory that does not grow with them. */
import { spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from './support.js';

const megabyte = 2 ** 20;
const program = `
const { importRows } = await import(process.argv[1]);
// Not \`maxRSS\`: on Linux it is at least that of the process that started this one.
const memory = [];
const report = await importRows({ from: process.argv[2], output: process.argv[3], onProgress: () => memory.push(process.memoryUsage.rss()) });
console.log(JSON.stringify({ written: report.written, memory }));
`;

async function writeRows(file: string, bytes: number): Promise<number> {
  const out = createWriteStream(file);
  const content = 'The quick brown fox jumps over the lazy dog. '.repeat(80);
  let [written, rows] = [0, 0];
  while (written < bytes) {
    const messages = [
      { role: 'user', content: `${rows}: ${content}` },
      { role: 'assistant', content },
    ];
    const line = `${JSON.stringify({ messages })}\n`;
    if (!out.write(line)) await once(out, 'drain');
    written += line.length;
    rows++;
  }
  out.end();
  await once(out, 'finish');
  return rows;
}

it('imports 500 MB in less memory than that', { tags: ['slow'], timeout: 180_000 }, async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'rows.jsonl');
  const rows = await writeRows(file, 500 * megabyte);
  const register = new URL('../../../tools/register-source.mjs', import.meta.url).href;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--conditions=@trinity-rft/source',
      `--import=${register}`,
      '--max-old-space-size=64',
      '--input-type=module',
      '--eval',
      program,
      fileURLToPath(new URL('../src/index.ts', import.meta.url)),
      file,
      path.join(folder, 'out.jsonl'),
    ],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  const { written, memory } = JSON.parse(stdout) as { written: number; memory: readonly number[] };
  expect([written, memory.length]).toEqual([rows, 5]);
  expect(Math.max(...memory) / megabyte).toBeLessThan(500);
});
