/** Lists of JSON and rows of CSV, which are read item by item. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvReader, rowEnd } from '../src/files/csv.js';
import { scanList } from '../src/files/json-list.js';
import type { FindEnd } from '../src/files/read-pieces.js';
import { importRows, renderImport } from '../src/index.js';
import { importFrom, reasonsOf, temporaryFolder } from './support.js';

const written = (name: string, content: string | Uint8Array): string => {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, content);
  return file;
};
const row = (text: string) => ({
  messages: [
    { role: 'user', content: text },
    { role: 'assistant', content: `{"a": ["${text}]` },
  ],
});

/** Pieces of a text that arrives in chunks of these sizes. */
function pieces(text: string, sizes: readonly number[], findEnd: FindEnd): readonly string[] {
  const bytes = Buffer.from(text);
  const [found, pending]: [string[], Buffer[]] = [[], []];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const chunk = bytes.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
    let start = 0;
    for (let end = findEnd(chunk, start); end >= 0; end = findEnd(chunk, start)) {
      found.push(Buffer.concat([...pending.splice(0), chunk.subarray(start, end)]).toString());
      start = end + 1;
    }
    pending.push(chunk.subarray(start));
    at += chunk.length;
  }
  return [...found, Buffer.concat(pending).toString()];
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe('a folder', () => {
  it('is read with its linked files and folders, each folder once', async () => {
    const [folder, other] = [temporaryFolder(), temporaryFolder()];
    const write = (file: string, text: string) => writeFileSync(file, JSON.stringify(row(text)));
    write(path.join(folder, 'a.jsonl'), 'a');
    write(path.join(other, 'blob'), 'b');
    mkdirSync(path.join(other, 'sub'));
    write(path.join(other, 'sub', 'c.jsonl'), 'c');
    symlinkSync(path.join(other, 'blob'), path.join(folder, 'b.jsonl'));
    symlinkSync(path.join(other, 'sub'), path.join(folder, 'linked'), 'dir');
    symlinkSync(folder, path.join(folder, 'loop'), 'dir');
    const { rows, report } = await importFrom(folder);
    expect(rows).toEqual(['a', 'b', 'c'].map(row));
    expect(report).toMatchObject({ files: 3, duplicates: 0 });
  });

  it('is read without links that cannot be followed, which the report names', async () => {
    const folder = temporaryFolder();
    for (const name of ['d.jsonl', 'runs'])
      symlinkSync(path.join(folder, 'gone'), path.join(folder, name));
    await expect(importFrom(folder)).rejects.toThrow(
      /has no file that ends in .*d\.jsonl cannot be followed: .*ENOENT/,
    );
    writeFileSync(path.join(folder, 'a.jsonl'), JSON.stringify(row('a')));
    const { report } = await importFrom(folder);
    expect(report).toMatchObject({ files: 1, read: 1, written: 1 });
    const detail = expect.stringMatching(/ENOENT/) as string;
    const first = ['d.jsonl', 'runs'].map((name) => ({ file: path.join(folder, name), detail }));
    expect(report.skipped).toEqual([{ reason: 'the link cannot be followed', count: 2, first }]);
    expect(renderImport(report)).toContain(`followed: ${first[0]?.file} `);
  });

  it('is read without the folders that contain it, and without earlier output', async () => {
    const above = temporaryFolder();
    const folder = path.join(above, 'in');
    const old = path.join(above, 'old');
    for (const each of [folder, old]) mkdirSync(each);
    const write = (file: string) => writeFileSync(file, JSON.stringify(row(file)));
    const [data, output] = [path.join(folder, 'a.jsonl'), path.join(old, 'rows.jsonl')];
    for (const file of [data, output, path.join(above, 'unnamed.jsonl')]) write(file);
    const link = (target: string, name: string) =>
      symlinkSync(path.join(above, target), path.join(folder, name));
    link('.', 'up');
    link('old', 'latest');
    link('old/rows.jsonl', 'latest.jsonl');
    link('in/a.jsonl', 'b.jsonl');
    expect(await importRows({ from: folder, output })).toMatchObject({ files: 1, written: 1 });
    link('gone', 'new.jsonl');
    const fresh = path.join(folder, 'new.jsonl');
    writeFileSync(path.join(above, 'gone'), 'earlier rows');
    const again = await importRows({ from: folder, output: fresh });
    expect(again).toMatchObject({
      files: 2,
      written: 1,
      skipped: [{ reason: 'this import writes the file', first: [{ file: fresh }] }],
    });
    expect(lstatSync(fresh).isSymbolicLink()).toBe(true);
    expect(readFileSync(path.join(above, 'gone'), 'utf8')).toContain('a.jsonl');
  });

  it('is read without files of other kinds, which the report names', async () => {
    const folder = temporaryFolder();
    const at = (name: string) => path.join(folder, name);
    mkdirSync(at('sub'));
    const others = ['more.txt', 'notice-1.csv.zst', 'readme.tsv', 'sub/a.parquet'].map(at);
    const about = ['README.md', 'LICENSE', 'license.txt', '.hidden', 'out.txt'].map(at);
    for (const file of [...others, ...about]) writeFileSync(file, JSON.stringify(row('b')));
    await expect(importFrom(folder)).rejects.toThrow(
      /has no file that ends in .*more\.txt is a file of an unknown kind; .* convert it to JSON lines/,
    );
    writeFileSync(at('a.jsonl'), JSON.stringify(row('a')));
    symlinkSync('more.txt', at('y.tsv'));
    const report = await importRows({ from: folder, output: at('out.txt') });
    const reason =
      'files of this kind are not read; unpack them, or convert them to JSON lines (Hugging Face: to_json)';
    const first = [...others, at('y.tsv')].map((file) => ({ file }));
    expect(report).toMatchObject({ files: 1, written: 1 });
    expect(report.skipped).toEqual([{ reason, count: 5, first }]);
  });

  it('is read although links in it go round in a circle', async () => {
    const folder = temporaryFolder();
    const at = (name: string) => path.join(folder, name);
    symlinkSync('l2.jsonl', at('l1.jsonl'));
    symlinkSync('l1.jsonl', at('l2.jsonl'));
    writeFileSync(at('a.jsonl'), JSON.stringify(row('a')));
    const { report } = await importFrom(folder);
    expect(report).toMatchObject({ written: 1, skipped: [{ count: 2 }] });
    await expect(importRows({ from: at('a.jsonl'), output: at('l1.jsonl') })).rejects.toThrow(
      'l1.jsonl", which is a link that leads to no file',
    );
  });

  it('may hold an earlier report, but its data are not overwritten with one', async () => {
    const folder = temporaryFolder();
    const [data, report] = [path.join(folder, 'a.json'), path.join(folder, 'report.json')];
    writeFileSync(data, JSON.stringify([row('a')]));
    const output = path.join(folder, 'rows.jsonl');
    for (let i = 0; i < 2; i++)
      expect(await importRows({ from: folder, output, report })).toMatchObject({ written: 1 });
    await expect(importRows({ from: folder, output, report: data })).rejects.toThrow(
      'a.json is one of the files to import. Name another file to write.',
    );
    rmSync(data);
    await expect(importRows({ from: folder, output, report })).rejects.toThrow(
      RegExp(`has no other file .* or .gz after it. This import writes ${report}.`),
    );
  });

  it.skipIf(process.getuid?.() === 0 || process.platform === 'win32')(
    'is named if it cannot be read',
    async () => {
      const folder = temporaryFolder();
      const inner = path.join(folder, 'inner');
      mkdirSync(inner, { mode: 0 });
      await expect(importFrom(folder)).rejects.toThrow(/inner cannot be read: .*EACCES/);
      const other = temporaryFolder();
      symlinkSync(inner, path.join(other, 'linked'), 'dir');
      writeFileSync(path.join(other, 'a.jsonl'), JSON.stringify(row('a')));
      expect((await importFrom(other)).report).toMatchObject({ files: 1, skipped: [{ count: 1 }] });
    },
  );
});

describe('the files that are written', () => {
  const source = () => written('three.jsonl', JSON.stringify(row('a')));

  it('are not the file to import, nor one file twice', async () => {
    const from = source();
    const [link, output] = [`${from}.link.jsonl`, path.join(path.dirname(from), 'rows.jsonl')];
    symlinkSync(from, link);
    const held = output.replace('.jsonl', '.validation.jsonl');
    for (const [report, problem] of [
      [from, '--report .*three.jsonl is the file to import'],
      [link, '--report .*three.jsonl is the file to import'],
      [output, '--report .*rows.jsonl is also the file of -o'],
      [held, '--report .*rows.validation.jsonl is also the file of the validation file'],
    ] as const) {
      await expect(importRows({ from, output, report })).rejects.toThrow(RegExp(problem));
      expect(readFileSync(from, 'utf8')).toBe(JSON.stringify(row('a')));
      expect(existsSync(output)).toBe(false);
    }
  });

  it('are written through links', async () => {
    const from = source();
    const at = (name: string) => path.join(path.dirname(from), name);
    writeFileSync(at('target.jsonl'), 'old');
    symlinkSync('target.jsonl', at('link.jsonl'));
    writeFileSync(at('report'), 'old');
    symlinkSync('report', at('linked-report'));
    await importRows({ from, output: at('link.jsonl'), report: at('linked-report') });
    expect(lstatSync(at('link.jsonl')).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(at('target.jsonl'), 'utf8'))).toEqual(row('a'));
    expect(JSON.parse(readFileSync(at('report'), 'utf8'))).toMatchObject({ written: 1 });
    expect(readdirSync(path.dirname(from)).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('are one file also if a link leads to its folder, which does not exist yet', async () => {
    const from = source();
    const at = (name: string) => path.join(path.dirname(from), name);
    mkdirSync(at('real'));
    symlinkSync('real', at('linked'));
    const [output, report] = [at('real/new/x.jsonl'), at('linked/new/x.jsonl')];
    await expect(importRows({ from, output, report })).rejects.toThrow('is also the file of -o');
  });

  it.skipIf(process.platform === 'win32')('are no pipes, nor links that lead nowhere', async () => {
    const from = source();
    const [pipe, link] = [`${from}.pipe`, `${from}.link`];
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe], { timeout: 10_000, killSignal: 'SIGKILL' });
    symlinkSync('gone', link);
    const nowhere = 'a link that leads to no file. Create the file or name';
    for (const [file, fault] of [
      [pipe, 'no regular file. Name'],
      [link, nowhere],
    ] as const) {
      const problem = `"${file}", which is ${fault} another file to write.`;
      await expect(importRows({ from, output: file })).rejects.toThrow(`-o is ${problem}`);
      const output = `${from}.rows`;
      await expect(importRows({ from, output, report: file })).rejects.toThrow(problem);
    }
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });
});

it('refuses unknown options and a share that is out of range', async () => {
  const options = { from: 'a.jsonl', output: 'b.jsonl' };
  const unknown = { ...options, validaton: 0.5 };
  await expect(importRows(unknown)).rejects.toThrow(
    'no argument "validaton" of importRows(). Did you mean "validation"?',
  );
  for (const validation of [2, 1, -0.1, NaN])
    await expect(importRows({ ...options, validation })).rejects.toThrow('Expected a share from 0');
});

describe('a list of JSON', () => {
  it('is split into its items, wherever chunks end', () => {
    fc.assert(
      fc.property(fc.array(fc.json(), { minLength: 1 }), sizes, (items, chunks) => {
        const [before, ...rest] = pieces(` [${items.join(' ,')}]\n`, chunks, scanList().findEnd);
        expect(before).toBe(' ');
        expect(rest.pop()).toBe('\n');
        expect(rest.map((item) => item.trim())).toEqual(items.map((item) => item.trim()));
      }),
    );
  });

  it.each([
    ['on one line', (rows: readonly object[]) => JSON.stringify(rows)],
    ['on many lines', (rows: readonly object[]) => `\uFEFF${JSON.stringify(rows, null, 2)}\n`],
  ])('is read %s, also gzipped', async (_, text) => {
    const rows = ['é "quoted"', '\\', ']},{['].map(row);
    for (const file of [
      written('rows.json', text(rows)),
      written('rows.json.gz', gzipSync(text(rows))),
    ])
      expect((await importFrom(file)).rows).toEqual(rows);
  });

  it.each([
    ['the list is cut off', (item: string) => `[${item},${item.slice(0, -2)}`],
    ['the item is not JSON', (item: string) => `[${item},,${item}]`],
    ['the item is not JSON', (item: string) => `[${item},]`],
    ['the item is not JSON', (item: string) => `[${item}}]`],
    ['there is more after the list', (item: string) => `[${item}] ${item}`],
  ])('names its mistakes: %s', async (problem, text) => {
    const file = written('rows.json', text(JSON.stringify(row('Hi'))));
    const said = await importFrom(file, { source: 'openai' }).then(
      ({ report }) => JSON.stringify(report.skipped),
      String,
    );
    expect(said).toContain(problem);
  });

  it('may be empty', async () => {
    await expect(importFrom(written('rows.json', ' [ ] '))).rejects.toThrow('holds no records');
  });
});

describe('CSV', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\t', 'é', ' ') });

  it('gives back the cells, wherever chunks end', () => {
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    const separators = fc.constantFrom(',', ';', '\t');
    const headers = fc.constantFrom(['a', 'b', 'c'], ['a', 'b', '"c"'], ['"a"', '"b"', '"c"']);
    const rowsOfCells = fc.array(fc.tuple(cell, cell, cell));
    fc.assert(
      fc.property(separators, headers, rowsOfCells, sizes, (separator, names, rows, chunks) => {
        const lines = [names, ...rows.map((cells) => cells.map(quoted))];
        const text = lines.map((cells) => cells.join(separator)).join('\n');
        const [header = '', ...found] = pieces(
          text,
          chunks,
          rowEnd(() => undefined),
        );
        expect(found.map(csvReader(header).read)).toEqual(
          rows.map(([a, b, c]) => ({ ...(a && { a }), ...(b && { b }), ...(c && { c }) })),
        );
      }),
    );
  });

  it('is read by its header, and rows that do not fit it are named', async () => {
    const messages = JSON.stringify(row('Hi, "you"\n').messages);
    const lines = [
      '\uFEFFid,messages',
      `1,"${messages.replaceAll('"', '""')}"`,
      '',
      '2',
      '3,"a"b',
      '4,nope',
    ];
    const { rows, report } = await importFrom(written('rows.csv', lines.join('\r\n')), {
      source: 'openai',
    });
    expect(rows).toEqual([row('Hi, "you"\n')]);
    expect(reasonsOf(report)[0]).toBe('the row does not fit the header: 4, 5');
  });

  it('has booleans in the column of labels, which mark rejected answers', async () => {
    const lines = ['prompt,completion,label', 'Hi,Hello,True', 'Hi,Go,False', 'Hi,Stop,FALSE'];
    const file = written('rows.csv', lines.join('\n'));
    const { rows, report } = await importFrom(file);
    expect(rows).toHaveLength(1);
    expect(reasonsOf(report)).toEqual([
      expect.stringMatching(/^label or kto_tag is false, .*: 3, 4$/),
    ]);
    expect((await importFrom(file, { as: 'dpo' })).rows).toHaveLength(1);
    const asked = written('asked.csv', 'input,label\nIs it raining?,True');
    expect((await importFrom(asked)).rows).toEqual([expect.objectContaining({ answer: 'True' })]);
  });

  it.each([',', ';', '\t'])('takes quotes within a cell as text, with %j', async (separator) => {
    const lines = [
      '\uFEFF"instruction","output"',
      'Name it.,6" pipe',
      'And "it".,a;"b',
      '"Cut, ""now"".","two\nlines"',
      ',"x"y',
      'Last.,end',
    ];
    const other = separator === ',' ? ';' : ',';
    const swapped = (text: string): string =>
      text.replaceAll(/[,;]/g, (sign) => (sign === ',' ? separator : other));
    const { rows, report } = await importFrom(written('rows.csv', swapped(lines.join('\n'))));
    expect(rows).toEqual(
      [
        ['Name it.', '6" pipe'],
        ['And "it".', swapped('a;"b')],
        [swapped('Cut, "now".'), 'two\nlines'],
        ['Last.', 'end'],
      ].map(([content, answer]) => ({
        messages: [
          { role: 'user', content },
          { role: 'assistant', content: answer },
        ],
      })),
    );
    expect(reasonsOf(report)).toEqual(['the row does not fit the header: 5']);
  });

  it('of instructions is found by its columns', async () => {
    const { rows, report } = await importFrom(
      written('rows.csv', 'instruction\tinput\toutput\nAdd.\t1 2\t3\nGreet.\t\tHi\n'),
    );
    expect(report.sources).toEqual(['alpaca']);
    expect(rows).toHaveLength(2);
  });
});
