import { DatabaseSync } from 'node:sqlite';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { eachRow, inTransaction, useWriteAheadLog } from './sqlite.js';

it('stores all of the work or none of it, and can be used again', () => {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE t (n INTEGER PRIMARY KEY)');
  const add = (...numbers: readonly number[]): number =>
    inTransaction(database, () => {
      for (const n of numbers) database.prepare('INSERT INTO t VALUES (?)').run(n);
      return numbers.length;
    });
  expect(add(1, 2)).toBe(2);
  expect(() => add(3, 1)).toThrow('UNIQUE');
  add(4);
  expect(database.prepare('SELECT n FROM t').all()).toEqual([{ n: 1 }, { n: 2 }, { n: 4 }]);
  database.close();
});

it('repeats the switch to a write-ahead log while another connection makes it', () => {
  const errors = [5, 261].map((errcode) => Object.assign(new Error('locked'), { errcode }));
  const database = {
    exec: () => {
      const error = errors.shift();
      if (error) throw error;
    },
  };
  useWriteAheadLog(database);
  errors.push(Object.assign(new Error('disk I/O error'), { errcode: 10 }));
  expect(() => useWriteAheadLog(database)).toThrow('disk I/O error');
});

it('reads a statement that nobody else holds to its end', () => {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE t (n INTEGER PRIMARY KEY)');
  for (let n = 1; n <= 100; n++) database.prepare('INSERT INTO t VALUES (?)').run(n);
  let sum = 0;
  for (const { n } of eachRow(database.prepare('SELECT n FROM t WHERE n > ?'), 50)) {
    if (sum === 0) collectGarbage();
    sum += Number(n);
  }
  expect(sum).toBe(3775);
  database.close();
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
