import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { TaskError } from '@trinity-rft/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTaskSource, readTaskRows } from '../src/index.js';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trinity-tasks-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const read = (path: string, split?: string, subsetName?: string) =>
  readTaskRows({
    name: 'sums',
    path,
    environment: {},
    ...(split && { split }),
    ...(subsetName && { subsetName }),
  });

describe('JSON', () => {
  it('reads lines with a byte order mark, CRLF, blank lines, no last line end, and odd but legal characters', async () => {
    const path = write(
      'tasks.jsonl',
      '\uFEFF{"q": "a\u2028b\u0085", "n": 1}\r\n\r\n   \n{"q": "日本🚀", "n": 2}',
    );
    expect(await read(path)).toEqual([
      { q: 'a\u2028b\u0085', n: 1 },
      { q: '日本🚀', n: 2 },
    ]);
  });

  it('reads lines that lie across the blocks in which files are read', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => ({ n, text: 'é'.repeat(n * 7) }));
    const path = write('tasks.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    expect(await read(path)).toEqual(rows);
  });

  it('reads an array, lines in a .json file, and both gzipped', async () => {
    const rows = [{ n: 1 }, { n: 2 }];
    const lines = '{"n":1}\n{"n":2}\n';
    expect(await read(write('array.json', `\n ${JSON.stringify(rows, undefined, 2)}\n`))).toEqual(
      rows,
    );
    expect(await read(write('lines.json', lines))).toEqual(rows);
    expect(await read(write('lines.jsonl.gz', gzipSync(lines)))).toEqual(rows);
    expect(await read(write('array.json.gz', gzipSync(JSON.stringify(rows))))).toEqual(rows);
  });

  it('counts every malformed line and lists the first few with line, column and what was found', async () => {
    const path = write(
      'tasks.jsonl',
      '{"n": 1}\n{"n": 2,}\n\n[1, 2]\nnull\n"text"\n{"n": NaN}\n{"n": 7}\n',
    );
    await expect(read(path)).rejects.toThrow(
      [
        `${path}: 5 rows are malformed (2 are good).`,
        `  ${path}:2:9: expected a key in double quotes, found "}"`,
        `  ${path}:4:1: expected a JSON object, found an array`,
        `  ${path}:5:1: expected a JSON object, found null`,
        '  ... and 2 more',
      ].join('\n'),
    );
    await expect(read(path)).rejects.toMatchObject({
      name: 'TaskError',
      code: 'TASKSET_MALFORMED',
      details: { bad: 5, good: 2 },
    });
  });

  it('names the place of what parsing would lose', async () => {
    const path = write(
      'tasks.jsonl',
      '{"q": 1, "q": 2}\n{"-1e400": "-1e400", "n": -1e400}\n{"q": "1e400", "a": [{"q": 1}, {"q": 2}]}\n',
    );
    await expect(read(path)).rejects.toThrow(
      [
        `${path}: 2 rows are malformed (1 are good).`,
        `  ${path}:1:10: expected each key once, found "q" again`,
        `  ${path}:2:27: expected a number up to 1.797e308, found -1e400`,
      ].join('\n'),
    );
    const array = write('tasks.json', '[\n  {"n": 1},\n  {"n": 1, "n": 2}\n]\n');
    await expect(read(array)).rejects.toThrow(
      `${array}:3:12: expected each key once, found "n" again`,
    );
  });

  it('reads a row whose text has millions of escapes and a digest like a number', async () => {
    const row = { q: 'line "q"\n'.repeat(1_200_000), digest: '7e1234' };
    expect(await read(write('long.jsonl', JSON.stringify(row)))).toEqual([row]);
  });

  it('reads a row with a million digits in a text in linear time', async () => {
    const row = { q: `add ${'1'.repeat(1_000_000)}`, n: 1.5 };
    expect(await read(write('digits.jsonl', JSON.stringify(row)))).toEqual([row]);
  });

  it('names the line of bytes that are not UTF-8', async () => {
    const path = write(
      'tasks.jsonl',
      Buffer.concat([
        Buffer.from('{"n": 1}\n{"q": "'),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}\n'),
      ]),
    );
    await expect(read(path)).rejects.toThrow(`${path}:2: expected UTF-8 text, found other bytes`);
  });

  it('names the place in an array that is broken, and the items that are not objects', async () => {
    const broken = write('broken.json', '[\n  {"n": 1},\n  {"n": 2 "m": 3}\n]\n');
    await expect(read(broken)).rejects.toThrow(`${broken}:3:11: expected a comma, found "m"`);
    const mixed = write('mixed.json', '[{"n": 1}, 2, null]');
    await expect(read(mixed)).rejects.toThrow(
      /2 rows are malformed \(1 are good\)[\s\S]*item 2: expected a JSON object, found a number[\s\S]*item 3: .*found null/,
    );
  });

  it('rejects an array where lines are promised', async () => {
    await expect(read(write('tasks.jsonl', '[{"n": 1}]\n'))).rejects.toThrow(
      /:1:1: expected a JSON object, found an array/,
    );
  });
});

describe('Parquet', () => {
  it('reads every type as the plain JSON that it would be in a JSON file', async () => {
    expect(await read(fixture('types.parquet'))).toEqual([
      {
        text: 'plain',
        small: 1,
        large: '9007199254740993',
        ratio: 0.5,
        flag: true,
        when: '2026-11-20T12:30:00.000Z',
        bytes: 'AP8=',
        tags: ['a', 'b'],
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: null },
        ],
        nested: { a: { b: [1, 2] } },
      },
      {
        text: null,
        small: -2,
        large: '-1152921504606846976',
        ratio: null,
        flag: false,
        when: null,
        bytes: '',
        tags: [],
        messages: [],
        nested: null,
      },
      {
        text: '日本🚀',
        small: null,
        large: 0,
        ratio: -1e300,
        flag: null,
        when: '1970-01-01T00:00:00.000Z',
        bytes: null,
        tags: null,
        messages: null,
        nested: { a: null },
      },
    ]);
  });

  it('keeps every digit of decimals and of JSON, at any depth', async () => {
    expect(await read(fixture('decimals.parquet'))).toEqual([
      {
        price: 1.15,
        long: 12345678901.5,
        wide: '12345678901234567890',
        nested: { a: 1.005, b: 'x' },
        list: [0.1, 0.7],
        items: [{ p: 1.15 }],
        map: { k: 2.3 },
        facts: { id: '9007199254740993' },
      },
      {
        price: -0.05,
        long: 0,
        wide: '-12345678901234567890',
        nested: null,
        list: [],
        items: null,
        map: {},
        facts: [1],
      },
      {
        price: null,
        long: -3,
        wide: 7,
        nested: { a: null, b: null },
        list: null,
        items: [],
        map: null,
        facts: null,
      },
    ]);
  });

  it.each(['snappy', 'gzip', 'brotli', 'zstd', 'lz4'])(
    'reads %s compression, over several row groups',
    async (codec) => {
      const rows = await read(fixture(`${codec}.parquet`));
      expect(rows.map((row) => row['n'])).toEqual(Array.from({ length: 40 }, (_, n) => n));
      expect(rows[39]!['text']).toBe('row 4 '.repeat(8));
    },
  );

  it('reads a column without a value in LZ4 compression', async () => {
    const rows = await read(fixture('lz4-empty.parquet'));
    expect(rows).toEqual(Array.from({ length: 200 }, (_, id) => ({ id, nul: null })));
  });

  it('names row and column of JSON that parsing would lose', async () => {
    const bytes = readFileSync(fixture('decimals.parquet'));
    const place = bytes.indexOf('{"id": 9007199254740993}');
    bytes.write('{"id": 1, "id": 2      }', place);
    const path = write('tasks.parquet', bytes);
    await expect(read(path)).rejects.toThrow(
      `${path}, row 1, column "facts": expected each key once, found "id" again`,
    );
    bytes.write('{"id": 1e400           }', place);
    await expect(read(write('tasks.parquet', bytes))).rejects.toThrow(
      'column "facts": expected a number up to 1.797e308, found 1e400',
    );
    bytes.write('{"id": 1 2             }', place);
    await expect(read(write('tasks.parquet', bytes))).rejects.toThrow(
      'column "facts": expected a comma',
    );
  });

  it('rejects a file that is not Parquet', async () => {
    await expect(
      read(write('tasks.parquet', 'version https://git-lfs.github.com/spec/v1\n')),
    ).rejects.toThrow(/cannot be read as Parquet/);
  });
});

describe('folders', () => {
  it('reads shards of a subset in their order', async () => {
    const questions = async (split: string, subset?: string) =>
      (await read(fixture('arithmetic'), split, subset)).map((row) => row['question']);
    expect(await questions('train')).toEqual(['0 + 1', '1 + 2', '2 + 3', '3 + 4', '4 + 5']);
    expect(await questions('test', 'easy')).toEqual(['5 + 6']);
    expect(await questions('train', 'hard')).toEqual(['100 + 101', '101 + 102']);
    expect(await questions('test+train[-1:]+train[:1]')).toEqual(['5 + 6', '4 + 5', '0 + 1']);
    await expect(questions('test', 'hard')).rejects.toThrow(
      /no split "test". Expected one of: train/,
    );
  });

  it('gives rows with their numbers in the asked order', async () => {
    const source = await openTaskSource({
      name: 'sums',
      path: fixture('arithmetic'),
      selectorType: 'shuffle',
      seed: 3,
      totalEpochs: 2,
    });
    expect(source.size).toBe(5);
    const rows = await source.next(5);
    expect(rows.map(({ row }) => row).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
    for (const { row, rawTask } of rows) expect(rawTask['question']).toBe(`${row} + ${row + 1}`);
    await source.close();
  });
});

describe('what is not there', () => {
  it.each([
    [
      'missing.jsonl',
      /missing\.jsonl does not exist\. Expected a file, a folder, or the id of a Hugging Face dataset/,
    ],
    ['deep/er/folder', /does not exist/],
    [
      'tasks.csv',
      /tasks\.csv is not a supported kind of file. Expected .jsonl.*: npx trinity import \S*tasks\.csv -o/,
    ],
    ['empty.jsonl', /holds no rows; expected at least one/],
    ['blank.jsonl', /holds no rows/],
    ['none.json', /holds no rows/],
    ['torn.jsonl.gz', /cannot be read: unexpected end of file/],
    ['folder', /expected files ending in \.jsonl, \.json or \.parquet, found none/],
  ])('says so: %s', async (name, message) => {
    write('tasks.csv', 'a,b\n');
    write('empty.jsonl', '');
    write('blank.jsonl', '\uFEFF\r\n  \n');
    write('none.json', '[]');
    write('torn.jsonl.gz', gzipSync('{"n": 1}\n').subarray(0, 20));
    write('folder/README.md', '# Nothing');
    const reading = read(join(folder, name));
    await expect(reading).rejects.toThrow(TaskError);
    await expect(read(join(folder, name))).rejects.toThrow(message);
  });

  it('stops when it is cancelled', async () => {
    const path = write('tasks.jsonl', '{"n": 1}\n');
    await expect(
      readTaskRows({ name: 'sums', path, signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({
      name: 'CancelledError',
      code: 'TASKSET_CANCELLED',
    });
  });
});

it('reports files that it leaves out once, however many parts of the split use it', async () => {
  write('set/train.jsonl', '{"n": 1}\n{"n": 2}\n');
  write('set/train_2.jsonl', '{"n": 3}\n');
  const lines: string[] = [];
  const rows = await readTaskRows({
    name: 'sums',
    path: join(folder, 'set'),
    environment: {},
    split: 'train[:1]+train[1:]',
    report: (line) => lines.push(line),
  });
  expect(rows).toEqual([{ n: 1 }, { n: 2 }]);
  expect(lines).toEqual([expect.stringContaining('and not from train_2.jsonl')]);
});
