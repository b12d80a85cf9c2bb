import { silentLogger } from '@trinity-rft/core';
import { openSqlite } from '@trinity-rft/core/store';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabase } from './database.js';
import { intercodeSql } from './definition.js';

function database() {
  const created = createDatabase(0);
  onTestFinished(() => created.close());
  return created;
}

it('answers queries', () => {
  const rowsOf = (sql: string) => database().query(sql).rows;
  expect(database().query('SELECT COUNT(*) AS n FROM books')).toEqual({
    columns: ['n'],
    rows: [[30]],
  });
  expect(database().query('SELECT 1 AS n, 2 AS n')).toEqual({
    columns: ['n', 'n'],
    rows: [[1, 2]],
  });
  expect(
    rowsOf("SELECT replace(title, 'The ', '') AS replace FROM books ORDER BY replace LIMIT 2"),
  ).toHaveLength(2);
  expect(
    rowsOf("SELECT 1 WHERE 'quote' LIKE '%quote%' OR 'hex' LIKE '%hex%' OR '' LIKE '%replace%'"),
  ).toHaveLength(1);
  expect(rowsOf('SELECT a.id FROM sales a, sales b')).toHaveLength(200);
  expect(rowsOf('PRAGMA table_info(books)')).toHaveLength(6);
  expect(rowsOf('EXPLAIN QUERY PLAN SELECT * FROM books')).toHaveLength(1);
  expect(rowsOf('EXPLAIN WITH x AS (SELECT 1) SELECT * FROM x')).not.toEqual([]);
  expect(
    rowsOf(
      'WITH sold AS (SELECT book_id, SUM(quantity) AS n FROM sales GROUP BY 1), top AS (SELECT * FROM sold ORDER BY sold.n DESC LIMIT 3) SELECT title, top.n FROM top JOIN books ON id = top.book_id',
    ),
  ).toHaveLength(3);
});

it.each([
  ['DELETE FROM books', /Only queries/],
  ['WITH x AS (SELECT 1) DELETE FROM books', /readonly/],
  [
    'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT MAX(n) FROM c',
    /RECURSIVE/,
  ],
  ['SELECT COUNT(*) FROM sales, sales a, sales b, sales c, sales d', /at most four tables/],
  ['WITH t AS (SELECT id FROM sales) SELECT COUNT(*) FROM t a, t b, t c, t d', /at most four/],
  ['WITH "t" (x)/*(*/AS--\nNOT MATERIALIZED(SELECT 1) SELECT 1 FROM t,t a,[t] b,t c, t d', /four/],
  ["WITH 'a b' AS (SELECT 1) SELECT 1 FROM 'a b', 'a b', 'a b', 'a b', 'a b'", /at most four/],
  ['WITH té AS (SELECT 1) SELECT COUNT(*) FROM té', /letters, digits and _/],
  [`SELECT 1${' UNION ALL SELECT 1'.repeat(5)}`, /at most four/],
  ['WITH v AS (VALUES (1), (2)) SELECT COUNT(*) FROM v', /make rows/],
  ["SELECT COUNT(*) FROM json_each('[1, 2]')", /make rows/],
  ['SELECT COUNT(*) FROM pragma_function_list', /make rows/],
  ["SELECT COUNT(*) FROM jsonb_tree('[1, 2]')", /make rows/],
  ['SELECT COUNT(*) FROM dbstat a, dbstat b, dbstat c, dbstat d, dbstat e', /make rows/],
  ["SELECT COUNT(*) FROM fts3tokenize WHERE input = 'a b'", /make rows/],
  ['SELECT hex(zeroblob(900000000))', /large values/],
  [`SELECT ${'hex('.repeat(26)}1${')'.repeat(26)}`, /At most two calls/],
  [`SELECT ${'"quote"/**/('.repeat(26)}1${')'.repeat(26)}`, /At most two calls/],
  [`SELECT ${'hex--x\r\n('.repeat(6)}1${')'.repeat(6)}`, /At most two calls/],
  [
    'WITH a AS --x\r\n(SELECT x.id FROM sales x, sales y) SELECT 1 FROM a p, a q, a r',
    /at most four tables/,
  ],
  ['SELECT pages FROM books', /no such column/],
  ['', /Only queries/],
  ['EXPLAIN PRAGMA query_only = OFF', /Only queries/],
  ['explain  query plan\nPRAGMA query_only = 0', /Only queries/],
  ["EXPLAIN ATTACH 'other.db' AS other", /Only queries/],
])('does not run %j', (sql, why) => {
  expect(() => database().query(sql)).toThrow(why);
});

it.skipIf(!('limits' in openSqlite(':memory:')))('limits the length of values', () => {
  const longer = (inner: string): string => `SELECT v || v || v || v AS v FROM (${inner})`;
  const sql = Array.from({ length: 12 }).reduce<string>(longer, "SELECT 'abcd' AS v");
  expect(() => database().query(sql)).toThrow(/too big/);
});

it('shows cells of limited length', async () => {
  const { signal } = new AbortController();
  const environment = await intercodeSql.open({}, { logger: silentLogger, signal });
  onTestFinished(() => environment.close());
  const row = { query: 'How many?', gold: 'SELECT 1' };
  const episode = await environment.reset({ row, seed: 0 }, signal);
  const long =
    "SELECT replace(hex('aaaaaaaaaaaaaaaa'), '6', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') AS n";
  const { observation } = await episode.step({ type: 'text', text: long }, signal);
  expect(observation).toMatch(/^n\n.{200}\.{3}$/);
});
