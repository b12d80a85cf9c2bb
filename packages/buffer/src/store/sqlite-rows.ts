/** Rows in SQLite: the statements of an experience store, one transaction per call. */
import type { DatabaseSync } from 'node:sqlite';
import {
  BufferError,
  decodeExperience,
  encodeExperience,
  TrinityError,
  uid,
  type Experience,
  type JsonState,
} from '@trinity-rft/core';
import type { RowDriver, StoredRow } from './row-driver.js';
import { duplicateError } from './errors.js';

/** @param release called after the database is closed */
export function sqliteRows(database: DatabaseSync, release: () => void): RowDriver {
  const sql = prepareStatements(database);

  const transaction = <T>(what: string, work: () => T): T => {
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
        {
          code: 'BUFFER_STORAGE',
          cause,
        },
      );
    }
  };

  const insertOne = (
    uidText: string,
    experience: Experience,
    bytes: Uint8Array,
    repeated: string[],
  ): StoredRow => {
    const { policyVersion } = experience;
    const { changes, lastInsertRowid } = sql.insert.run(uidText, policyVersion, bytes);
    if (changes === 0) repeated.push(uidText);
    return { id: Number(lastInsertRowid), policyVersion };
  };

  return {
    insert: (batch, explorerState) => {
      const encoded = batch.map(encodeExperience);
      return transaction('store experiences', () => {
        const repeated: string[] = [];
        const rows = batch.map((experience, i) =>
          insertOne(uid(experience.eid), experience, encoded[i]!, repeated),
        );
        if (repeated.length > 0) throw duplicateError(repeated);
        if (explorerState) sql.setState.run('explorer', JSON.stringify(explorerState));
        return rows;
      });
    },
    read: (rows) =>
      rows.map(({ id }) => {
        const row = sql.read.get(id) as { bytes: Uint8Array } | undefined;
        if (!row)
          throw new BufferError(
            `Experience ${id} has gone from the store; expected it to be there. Something else changed the file.`,
            {
              code: 'BUFFER_DAMAGED',
            },
          );
        return decodeExperience(row.bytes);
      }),
    settle: (used, dropped, trainStep) =>
      transaction('record a train step', () => {
        for (const { id } of used) sql.settle.run(trainStep, 0, id);
        for (const { id } of dropped) sql.settle.run(trainStep, 1, id);
      }),
    unsettle: (trainStep) => transaction('roll back', () => void sql.unsettle.run(trainStep)),
    unsettled: (after = 0) =>
      sql.unsettled
        .all(after)
        .map((row) => ({ id: Number(row['id']), policyVersion: Number(row['policy_version']) })),
    explorerState: () => {
      const row = sql.getState.get('explorer');
      return row && (JSON.parse(String(row['json'])) as JsonState);
    },
    counts: () => {
      const row = sql.counts.get() ?? {};
      return {
        total: Number(row['total']),
        trained: Number(row['settled']) - Number(row['dropped']),
        dropped: Number(row['dropped']),
      };
    },
    close: () => {
      database.close();
      release();
    },
  };
}

/**
 * SQLite has rolled back by itself after some errors (a full disk); saying it again is then an
 * error that means nothing.
 */
function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // No transaction is open: nothing to undo.
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
