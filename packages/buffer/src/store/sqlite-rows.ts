/** Rows in SQLite: the statements of an experience store, one transaction per call. */
import type { DatabaseSync } from 'node:sqlite';
import { TrinityError, type Experience } from '@trinity-rft/core';
import {
  BufferError,
  decodeExperience,
  encodeExperience,
  uid,
  type JsonState,
} from '@trinity-rft/core/internal';
import type { RowDriver, StoredRow } from './row-driver.js';
import { duplicateError } from './errors.js';

/** @param release called after the database is closed */
export function sqliteRows(database: DatabaseSync, release: () => void): RowDriver {
  const sql = prepareStatements(database);
  return {
    insert: (batch, explorerState) => {
      const encoded = batch.map((experience) => ({
        key: uid(experience.eid),
        policyVersion: experience.policyVersion,
        bytes: encodeExperience(experience),
      }));
      return transaction(database, 'store experiences', () => {
        const rows = insertRows(sql, encoded);
        if (explorerState) sql.setState.run('explorer', JSON.stringify(explorerState));
        return rows;
      });
    },
    read: (rows) => rows.map(({ id }) => readRow(sql, id)),
    settle: (used, dropped, trainStep) =>
      transaction(database, 'record a train step', () => {
        for (const { id } of used) sql.settle.run(trainStep, 0, id);
        for (const { id } of dropped) sql.settle.run(trainStep, 1, id);
      }),
    unsettle: (trainStep) =>
      transaction(database, 'roll back', () => void sql.unsettle.run(trainStep)),
    unsettled: (after = 0) =>
      sql.unsettled
        .all(after)
        .map((row) => ({ id: Number(row['id']), policyVersion: Number(row['policy_version']) })),
    explorerState: () => {
      const row = sql.getState.get('explorer');
      return row && (JSON.parse(String(row['json'])) as JsonState);
    },
    counts: () => {
      const { total, settled, dropped } = sql.counts.get() ?? {};
      return {
        total: Number(total),
        trained: Number(settled) - Number(dropped),
        dropped: Number(dropped),
      };
    },
    close: () => {
      database.close();
      release();
    },
  };
}

type Statements = ReturnType<typeof prepareStatements>;

interface EncodedRow {
  readonly key: string;
  readonly policyVersion: number;
  readonly bytes: Uint8Array;
}

/** @throws BufferError when a uid is already stored */
function insertRows(sql: Statements, batch: readonly EncodedRow[]): readonly StoredRow[] {
  const repeated: string[] = [];
  const rows = batch.map(({ key, policyVersion, bytes }) => {
    const { changes, lastInsertRowid } = sql.insert.run(key, policyVersion, bytes);
    if (changes === 0) repeated.push(key);
    return { id: Number(lastInsertRowid), policyVersion };
  });
  if (repeated.length > 0) throw duplicateError(repeated);
  return rows;
}

function readRow(sql: Statements, id: number): Experience {
  const row = sql.read.get(id) as { bytes: Uint8Array } | undefined;
  if (row) return decodeExperience(row.bytes);
  throw new BufferError(
    `Experience ${id} is missing from the store; another program has changed the file. Start the run again with another name.`,
    { code: 'BUFFER_DAMAGED' },
  );
}

/** @param what for messages: what the transaction does */
function transaction<T>(database: DatabaseSync, what: string, work: () => T): T {
  try {
    database.exec('BEGIN IMMEDIATE');
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (cause) {
    rollBack(database);
    if (TrinityError.is(cause)) throw cause;
    throw new BufferError(
      `The experience store could not ${what}: ${(cause as Error).message}. Nothing of it was stored. Check the disk.`,
      { code: 'BUFFER_STORAGE', cause },
    );
  }
}

/** After some errors (a full disk) SQLite has already rolled back: then ROLLBACK fails. */
function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // No transaction is open.
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    insert: database.prepare(
      'INSERT INTO experience (uid, policy_version, bytes) VALUES (?, ?, ?) ON CONFLICT (uid) DO NOTHING',
    ),
    read: database.prepare('SELECT bytes FROM experience WHERE id = ?'),
    settle: database.prepare('INSERT INTO used (train_step, dropped, id) VALUES (?, ?, ?)'),
    unsettle: database.prepare('DELETE FROM used WHERE train_step > ?'),
    unsettled: database.prepare(
      'SELECT id, policy_version FROM experience WHERE id > ? AND id NOT IN (SELECT id FROM used) ORDER BY id',
    ),
    counts: database.prepare(
      'SELECT (SELECT count(*) FROM experience) AS total, count(*) AS settled, coalesce(sum(dropped), 0) AS dropped FROM used',
    ),
    setState: database.prepare(
      'INSERT INTO state (name, json) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET json = excluded.json',
    ),
    getState: database.prepare('SELECT json FROM state WHERE name = ?'),
  };
}
