/** Imports 500 MB of rows in constant memory. */
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

interface Layout {
  readonly before: string;
  readonly row: (messages: readonly object[], index: number) => string;
  readonly after: string;
}

const csvCell = (text: string): string => `"${text.replaceAll('"', '""')}"`;

const layouts: Readonly<Record<string, Layout>> = {
  'rows.jsonl': {
    before: '',
    row: (messages) => `${JSON.stringify({ messages })}\n`,
    after: '',
  },
  'list.json': {
    before: '[',
    row: (messages, index) => `${index === 0 ? '' : ','}${JSON.stringify({ messages })}`,
    after: ']',
  },
  'rows.csv': {
    before: 'id,messages\r\n',
    row: (messages, index) => `${index},${csvCell(JSON.stringify(messages))}\r\n`,
    after: '',
  },
};

async function writeRows(file: string, bytes: number, layout: Layout): Promise<number> {
  const out = createWriteStream(file);
  out.write(layout.before);
  const content = 'The quick brown fox jumps over the lazy dog. '.repeat(80);
  let [written, rows] = [0, 0];
  while (written < bytes) {
    const messages = [
      { role: 'user', content: `${rows}: ${content}` },
      { role: 'assistant', content },
    ];
    const line = layout.row(messages, rows);
    if (!out.write(line)) await once(out, 'drain');
    written += line.length;
    rows++;
  }
  out.end(layout.after);
  await once(out, 'finish');
  return rows;
}

const slow = { tags: ['slow'], timeout: 180_000 };
it.each(Object.keys(layouts))(
  'imports 500 MB of %s in less memory than that',
  slow,
  async (name) => {
    const folder = temporaryFolder();
    const file = path.join(folder, name);
    const rows = await writeRows(file, 500 * megabyte, layouts[name]!);
    const register = new URL('../../../tools/register-source.mjs', import.meta.url).href;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [
        '--conditions=@trinity-rft/source',
        `--import=${register}`,
        // A quarter of the file; with less, garbage of a busy machine does not fit.
        '--max-old-space-size=128',
        '--input-type=module',
        '--eval',
        program,
        fileURLToPath(new URL('../src/index.ts', import.meta.url)),
        file,
        path.join(folder, 'out.jsonl'),
      ],
      { encoding: 'utf8', timeout: 170_000, killSignal: 'SIGKILL' },
    );
    expect(stderr).toBe('');
    const { written, memory } = JSON.parse(stdout) as {
      written: number;
      memory: readonly number[];
    };
    expect([written, memory.length]).toEqual([rows, 5]);
    expect(Math.max(...memory) / megabyte).toBeLessThan(500);
  },
);
