import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { findPostgres, startPostgres, type TestPostgres } from '@trinity-rft/test-support';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTaskSource, readTaskRows } from './open-task-source.js';

const statements = [
  'CREATE TABLE sums (id INTEGER PRIMARY KEY, question TEXT, level BIGINT)',
  "INSERT INTO sums VALUES (3, '3+1=', 9), (1, '1+1=', 7), (2, '2+1=', 8)",
  'CREATE TABLE theirs (id INTEGER PRIMARY KEY, raw_task TEXT)',
  `INSERT INTO theirs VALUES (1, '{"question": "7+7="}')`,
  'CREATE TABLE long (id BIGINT, amount NUMERIC, raw TEXT)',
  `INSERT INTO long VALUES (9007199254740993, 9007199254740993, '')`,
  'CREATE TABLE theirs_long (id INTEGER, raw_task TEXT)',
  `INSERT INTO theirs_long VALUES (1, '{"n": 9007199254740993}')`,
  'CREATE TABLE unordered (question TEXT)',
  'CREATE TABLE broken (id INTEGER, raw_task TEXT)',
  "INSERT INTO broken VALUES (1, '[1]')",
];

const folder = mkdtempSync(join(tmpdir(), 'sql-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

function reads(path: () => string): void {
  const read = (name: string, query?: string) =>
    readTaskRows({ storageType: 'sql', name, path: path(), query });

  it('reads a table by its ids, and goes on where it was', async () => {
    const expected = [1, 2, 3].map((id) => ({ id, question: `${id}+1=`, level: id + 6 }));
    expect(await read('sums')).toEqual(expected);
    const options = {
      storageType: 'sql' as const,
      name: 'sums',
      path: path(),
      selectorType: 'shuffle' as const,
      totalEpochs: 2,
    };
    const source = await openTaskSource(options);
    const first = await source.next(2);
    const state = source.state();
    const rest = await source.next(9);
    const rows = [...first, ...rest].map(({ row }) => row);
    const sorted = (part: readonly number[]) => part.toSorted((a, b) => a - b);
    expect([sorted(rows.slice(0, 3)), sorted(rows.slice(3))]).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ]);
    const resumed = await openTaskSource(options);
    resumed.restore(state);
    expect(await resumed.next(9)).toEqual(rest);
  });

  it('reads what a query selects, and tables of Trinity-RFT', async () => {
    const query = 'SELECT question FROM sums WHERE level > 7 ORDER BY level DESC';
    expect(await read('any', query)).toEqual([{ question: '3+1=' }, { question: '2+1=' }]);
    expect(await read('any', `${query}; -- in order\n`)).toHaveLength(2);
    expect(await read('any', `${query}; /* in\n order */ -- each`)).toHaveLength(2);
    await expect(read('any', `${query}; SELECT 1`)).rejects.toThrow('more than one statement');
    expect(await read('theirs')).toEqual([{ question: '7+7=' }]);
  });

  it('keeps whole numbers beyond 2^53 as texts', async () => {
    const long = '9007199254740993';
    expect(await read('long')).toEqual([{ id: long, amount: long, raw: '' }]);
    expect(await read('theirs_long')).toEqual([{ n: long }]);
  });

  it('says what is wrong, without the password', async () => {
    const problems = await Promise.all(
      ['unordered', 'missing', 'broken'].map((name) => read(name).then(String, String)),
    );
    expect(problems).toEqual([
      expect.stringMatching(/"unordered".* id.* A table needs a column id/),
      expect.stringMatching(/"missing".* (no such table|does not exist)/),
      expect.stringContaining('its column raw_task holds no JSON object'),
    ]);
    expect(problems.join()).not.toMatch(/secret( |%20)word/);
    await expect(read('sums', 'DELETE FROM sums')).rejects.toThrow(/read.?only/);
  });
}

describe('SQLite', () => {
  const file = join(folder, 'tasks.db');
  beforeAll(() => {
    const database = new DatabaseSync(file);
    for (const statement of statements) database.exec(statement);
    database.close();
  });
  reads(() => `sqlite:///${file}`);
});

describe.skipIf(findPostgres() === undefined)('PostgreSQL', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
    const client = new pg.Client({ connectionString: server.url() });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.query("ALTER ROLE CURRENT_USER SET DateStyle = 'German'");
    await client.end();
  });
  afterAll(() => server.stop());
  reads(() => server.url());

  it('keeps them in JSON columns too', async () => {
    const query = `SELECT '{"n": 9007199254740993}'::jsonb AS a, '[9007199254740993]'::json AS b, 'NaN'::numeric AS c, 1.5::numeric AS d`;
    expect(
      await readTaskRows({ storageType: 'sql', name: 'any', path: server.url(), query }),
    ).toEqual([{ a: { n: '9007199254740993' }, b: ['9007199254740993'], c: 'NaN', d: 1.5 }]);
  });

  it('keeps them in arrays too', async () => {
    const query = `SELECT ARRAY[[9007199254740993, 1], [NULL, 2]]::int8[] AS a, ARRAY[9007199254740993, 1.5]::numeric[] AS b,
      ARRAY['{"n": 9007199254740993}']::json[] AS c, ARRAY['[9007199254740993]']::jsonb[] AS d`;
    const long = '9007199254740993';
    expect(
      await readTaskRows({ storageType: 'sql', name: 'any', path: server.url(), query }),
    ).toEqual([
      {
        a: [
          [long, 1],
          [null, 2],
        ],
        b: [long, 1.5],
        c: [{ n: long }],
        d: [[long]],
      },
    ]);
  });

  it.each(['Europe/Berlin', 'America/New_York'])(
    'reads dates and times independently of the time zone %s',
    async (zone) => {
      vi.stubEnv('TZ', zone);
      const query = `SELECT '2024-03-01'::date AS a, '2024-03-01 00:30:00'::timestamp AS b,
        ARRAY['2024-03-01']::date[] AS c, ARRAY['2024-03-01 00:30:00', NULL]::timestamp[] AS d`;
      expect(
        await readTaskRows({ storageType: 'sql', name: 'any', path: server.url(), query }),
      ).toEqual([
        {
          a: '2024-03-01',
          b: '2024-03-01 00:30:00',
          c: ['2024-03-01'],
          d: ['2024-03-01 00:30:00', null],
        },
      ]);
    },
  );
});
