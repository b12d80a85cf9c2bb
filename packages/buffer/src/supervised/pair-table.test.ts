import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { findPostgres, startPostgres } from '@trinity-rft/test-support';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { readPairTable, writePairTable, type PairTable } from './pair-table.js';
import { chosenRows, type AnswerPair } from './preference-pairs.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trinity-pairs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pair = (id: string): AnswerPair => ({
  id,
  prompt: `p${id}`,
  answer1: 'a',
  answer2: "it's b",
  preferred: null,
});

const table = 'Our choices';

/** A person sets `preferred` by SQL. Returns the numbers of pairs added, and the rows. */
async function collect(pairs: PairTable, execute: (sql: string) => Promise<unknown>) {
  const first = await writePairTable(pairs, [pair('1'), pair('2')]);
  await execute(`UPDATE "Our choices" SET preferred = 2 WHERE id = '1'`);
  const second = await writePairTable(pairs, [pair('1'), pair('3')]);
  const refused = await execute('UPDATE "Our choices" SET preferred = 3').catch(String);
  return { added: [first, second], rows: chosenRows(await readPairTable(pairs)), refused };
}

const expected = {
  added: [2, 1],
  rows: [{ prompt: 'p1', chosen: "it's b", rejected: 'a' }],
  refused: expect.stringMatching(/constraint/i),
};

describe('a table of pairs', () => {
  it('keeps what has been chosen when pairs are added, in SQLite', async () => {
    const file = path.join(folder, 'choices.db');
    const made = await collect({ url: `sqlite:///${file}`, table }, async (sql) => {
      const database = new DatabaseSync(file);
      try {
        database.exec(sql);
      } finally {
        database.close();
      }
    });
    expect(made).toEqual(expected);
  });

  it.skipIf(findPostgres() === undefined)('and in PostgreSQL', async () => {
    const server = await startPostgres();
    const client = new pg.Client({ connectionString: server.url() });
    try {
      await client.connect();
      const made = await collect({ url: server.url(), table }, (sql) => client.query(sql));
      expect(made).toEqual(expected);
    } finally {
      await client.end();
      await server.stop();
    }
  });

  it('says what went wrong, without the password', async () => {
    const nowhere = { url: 'postgresql://me:secret@127.0.0.1:1/x', table };
    const error = await writePairTable(nowhere, [pair('1')]).catch(String);
    expect(error).toContain('cannot be written');
    expect(error).not.toContain('secret');
  });
});
