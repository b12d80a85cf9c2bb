/** A small read-only database of a bookshop, generated from a seed. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Random, createRandom, deriveSeed } from '@trinity-rft/core';
import { openSqlite } from '@trinity-rft/core/store';
import { once } from '../shared/once.js';
import { pick } from '../shared/pick.js';
import { refusalOf } from './refusal.js';

export interface Table {
  /** Names of the columns, which need not be unique. Empty if there are no rows. */
  readonly columns: readonly string[];
  /** Rows, at most 200. */
  readonly rows: readonly (readonly unknown[])[];
}

export interface ReadOnlyDatabase {
  /**
   * Runs a query.
   * @throws Error with SQLite's message, or with the reason why the query is refused
   */
  query(sql: string): Table;
  close(): void;
}

const schema = `CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER, genre TEXT, year INTEGER, price INTEGER);
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE sales (id INTEGER PRIMARY KEY, book_id INTEGER, customer_id INTEGER, quantity INTEGER, day TEXT);`;

const words = (text: string): readonly string[] => text.split(' ');
export const countries = words('Chile Ghana India Japan Norway Poland');
export const genres = words('crime fantasy history poetry science travel');
export const cities = words('Bergen Kyoto Lima Porto Quito Turku');
const first = words('Ada Ben Cleo Dara Emil Fay Gus Hana Ivo June Kai Lena');
const last = words('Abel Brook Crane Dorn Ellis Frost Grant Hale');
const things = words('River Lantern Orchard Winter Harbor Stone Garden Letter Island Mirror');

/** Maximum number of bytes of a value. Versions of Node.js without `limits` ignore it. */
const longestValue = 1_000_000;

export function createDatabase(seed: number): ReadOnlyDatabase {
  const database = openSqlite(':memory:', { limits: { length: longestValue } } as object);
  database.exec(schema);
  fill(database, createRandom(deriveSeed(seed, 'bookshop')));
  database.exec('PRAGMA query_only = ON');
  return {
    query: (sql) => {
      const why = refusalOf(sql);
      if (why !== undefined) throw new RangeError(why);
      return tableOf(database.prepare(sql));
    },
    close: once(() => database.close()),
  };
}

export const schemaText = schema;

function fill(database: DatabaseSync, random: Random): void {
  const insert = (
    table: string,
    count: number,
    values: (id: number) => readonly (string | number)[],
  ) => {
    const marks = values(0)
      .map(() => '?')
      .join(', ');
    const statement = database.prepare(`INSERT INTO ${table} VALUES (?, ${marks})`);
    for (let id = 1; id <= count; id++) statement.run(id, ...values(id));
  };
  const person = () => `${pick(first, random)} ${pick(last, random)}`;
  insert('authors', 12, () => [person(), pick(countries, random)]);
  insert('books', 30, (id) => [
    `The ${pick(things, random)} ${id}`,
    1 + random.integer(12),
    pick(genres, random),
    1980 + random.integer(45),
    5 + random.integer(40),
  ]);
  insert('customers', 20, () => [person(), pick(cities, random)]);
  insert('sales', 40, () => [
    1 + random.integer(30),
    1 + random.integer(20),
    1 + random.integer(5),
    `2024-${String(1 + random.integer(12)).padStart(2, '0')}-${String(1 + random.integer(28)).padStart(2, '0')}`,
  ]);
}

const mostRows = 200;

/**
 * Reads the rows of a query. Node.js before 22.16 returns rows only as objects, in which columns
 * with equal names are merged.
 */
function tableOf(statement: StatementSync): Table {
  const hasArrays = 'setReturnArrays' in statement;
  if (hasArrays) statement.setReturnArrays(true);
  const rows = [...take<object>(statement.iterate(), mostRows)];
  const names = hasArrays
    ? statement.columns().map(({ name }) => name)
    : Object.keys(rows[0] ?? {});
  return { columns: rows.length > 0 ? names : [], rows: rows.map((row) => Object.values(row)) };
}

function* take<T>(items: Iterable<T>, most: number): Generator<T> {
  let left = most;
  for (const item of items) {
    if (left-- === 0) return;
    yield item;
  }
}
