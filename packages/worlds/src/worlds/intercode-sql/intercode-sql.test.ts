import { expect, it, onTestFinished } from 'vitest';
import { createDatabase } from './database.js';

function database() {
  const created = createDatabase(0);
  onTestFinished(() => created.close());
  return created;
}

it('answers queries', () => {
  expect(database().query('SELECT COUNT(*) AS n FROM books')).toEqual([{ n: 30 }]);
  expect(database().query('SELECT a.id FROM sales a, sales b')).toHaveLength(200);
  expect(database().query('PRAGMA table_info(books)')).toHaveLength(6);
  expect(database().query('EXPLAIN QUERY PLAN SELECT * FROM books')).toHaveLength(1);
  expect(database().query('EXPLAIN WITH x AS (SELECT 1) SELECT * FROM x')).not.toEqual([]);
});

it.each([
  ['DELETE FROM books', /Only queries/],
  ['WITH x AS (SELECT 1) DELETE FROM books', /readonly/],
  [
    'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT MAX(n) FROM c',
    /RECURSIVE/,
  ],
  ['SELECT COUNT(*) FROM sales, sales a, sales b, sales c, sales d', /at most four tables/],
  ['SELECT hex(zeroblob(900000000))', /large values/],
  ['SELECT pages FROM books', /no such column/],
  ['', /Only queries/],
  ['EXPLAIN PRAGMA query_only = OFF', /Only queries/],
  ['explain  query plan\nPRAGMA query_only = 0', /Only queries/],
  ["EXPLAIN ATTACH 'other.db' AS other", /Only queries/],
])('does not run %j', (sql, why) => {
  expect(() => database().query(sql)).toThrow(why);
});
