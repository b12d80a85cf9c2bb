/**
 * The SQLite row driver, which executes the statements of an experience store. Each write is one
 * transaction.
 */
import type { DatabaseSync } from 'node:sqlite';
import { TrinityError, type Experience, BufferError, uid } from '@trinity-rft/core';
import {
  commitIn,
  decodeExperience,
  encodeExperience,
  inTransaction,
  type JsonState,
} from '@trinity-rft/core/store';
import {
  damagedStore,
  experienceChecksum,
  usedChecksum,
  type StoredExperience,
} from './checksum.js';
import { duplicateError, prunedError } from './errors.js';
import { checkLedger, readLedger, writeLedger } from './ledger.js';
import { openedFile } from './opened-file.js';
import { recordedSteps } from './recorded-steps.js';
import type { RowDriver, StoredRow } from './row-driver.js';
import { storedAdvantage } from './stored-advantage.js';
import { stateTable, type StateTable } from './state-table.js';
import { readStored, storedColumns } from './stored-experience.js';

export interface SqliteRowsOptions {
  /** Path of the store, for messages. */
  readonly path: string;
  /**
   * True to keep the encoded bytes of the newest rows in memory, because a trainer will read them
   * soon.
   * @default false
   */
  readonly keepNewest?: boolean;
  /** Called after the database is closed. */
  readonly release: () => void;
  readonly onNotice?: (text: string) => void;
}

/**
 * Creates the driver, and checks the store.
 * @throws BufferError if the store is damaged
 */
export function sqliteRows(
  database: DatabaseSync,
  { path, release, onNotice, keepNewest = false }: SqliteRowsOptions,
): Required<RowDriver> {
  const state = stateTable(database);
  const sql = prepareStatements(database);
  const file = openedFile(path);
  const transact = <T>(what: string, work: () => T): T => {
    file.assertThere();
    return transaction(database, what, work);
  };
  const newest = newestBytes();
  const { unchecked = 0 } = atOneMoment(database, () => checkLedger(database, state));
  if (unchecked > 0)
    onNotice?.(
      `${path} was written by an earlier version: ${unchecked} experiences have no checksum, so changes of them would not be noticed.`,
    );
  return {
    insert: (batch, explorerState, commit) => {
      const encoded = batch.map((experience) => ({
        key: uid(experience.eid),
        policyVersion: experience.policyVersion,
        bytes: encodeExperience(experience),
      }));
      const inserted = transact('store experiences', () => {
        const ledger = readLedger(state);
        const rows = insertRows(sql, encoded, ledger.lastId);
        const experiences = ledger.experiences + rows.length;
        writeLedger(state, { ...ledger, experiences, lastId: ledger.lastId + rows.length });
        if (explorerState) state.set('explorer', JSON.stringify(explorerState));
        if (commit !== undefined) state.set('commit', JSON.stringify(commit));
        return rows;
      });
      if (keepNewest) newest.replace(inserted, encoded);
      return inserted;
    },
    read: (rows) =>
      rows.map(({ id }) => {
        const bytes = newest.of(id);
        return bytes ? decodeExperience(bytes) : readRow(sql, id);
      }),
    settle: ({ used, stale }, { trainStep, at, advantages }) =>
      transact('record a train step', () => {
        const record = ({ id }: StoredRow, late: number, mean: number | null): void => {
          const checksum = usedChecksum(id, trainStep, late, at);
          sql.settle.run(trainStep, late, id, at, checksum, mean);
        };
        for (const [i, row] of used.entries()) {
          const { mean, tokens } = storedAdvantage(advantages?.[i]);
          record(row, 0, mean);
          if (tokens) sql.tokenAdvantage.run(row.id, trainStep, tokens);
        }
        for (const row of stale) record(row, 1, null);
        const ledger = readLedger(state);
        writeLedger(state, {
          ...ledger,
          used: ledger.used + used.length + stale.length,
          dropped: ledger.dropped + stale.length,
        });
      }),
    lastTrainStep: () =>
      Math.max(Number(sql.lastStep.get()?.['step']), readLedger(state).prunedUpTo ?? 0),
    unsettle: (trainStep) =>
      transact('roll back', () => {
        const ledger = readLedger(state);
        const { prunedUpTo = 0 } = ledger;
        if (prunedUpTo > trainStep) throw prunedError(path, trainStep, prunedUpTo);
        const { late } = sql.lateAfter.get(trainStep) ?? {};
        const { changes } = sql.unsettle.run(trainStep);
        writeLedger(state, {
          ...ledger,
          used: ledger.used - Number(changes),
          dropped: ledger.dropped - Number(late),
        });
      }),
    prune: (trainStep, keep) =>
      transact('delete what was trained on', () => {
        // Foreign keys are checked only at the commit, so rows of both tables can be deleted in any
        // order.
        database.exec('PRAGMA defer_foreign_keys = ON');
        const rows = sql.usedUpTo.all(trainStep).filter((row) => !keep?.has(Number(row['id'])));
        for (const { id } of rows) sql.deleteUses.run(Number(id));
        const unchecked = rows.filter(
          ({ id }) => sql.deleteExperience.get(Number(id))?.['checksum'] === null,
        );
        const sum = (name: string): number => rows.reduce((all, row) => all + Number(row[name]), 0);
        const trained = rows.filter((row) => Number(row['uses']) > Number(row['late'])).length;
        const ledger = readLedger(state);
        writeLedger(state, {
          ...ledger,
          experiences: ledger.experiences - rows.length,
          used: ledger.used - sum('uses'),
          dropped: ledger.dropped - sum('late'),
          prunedTrained: (ledger.prunedTrained ?? 0) + trained,
          prunedDropped: (ledger.prunedDropped ?? 0) + rows.length - trained,
          prunedUpTo: Math.max(ledger.prunedUpTo ?? 0, trainStep),
          unchecked: (ledger.unchecked ?? 0) - unchecked.length,
        });
      }),
    reusable: (trainStep = Number.MAX_SAFE_INTEGER) =>
      sql.reusable.all(trainStep).map((row) => ({
        id: Number(row['id']),
        policyVersion: Number(row['policy_version']),
        uid: String(row['uid']),
        uses: Number(row['uses']),
        lastUse: numberOf(row['last']),
        lastUseAt: numberOf(row['at']),
      })),
    recordsAfter: (trainStep) => {
      const { prunedUpTo = 0 } = readLedger(state);
      if (prunedUpTo > trainStep) throw prunedError(path, trainStep, prunedUpTo);
      return recordedSteps(
        sql.recordsAfter.all(trainStep).map((row) => ({
          id: Number(row['id']),
          trainStep: Number(row['train_step']),
          dropped: row['dropped'] === 1,
        })),
      );
    },
    unsettled: (after = 0) =>
      sql.unsettled.all(after).map((row) => ({
        id: Number(row['id']),
        policyVersion: Number(row['policy_version']),
        uid: String(row['uid']),
      })),
    explorerState: () => explorerStateIn(state),
    lastCommit: () => {
      const json = state.get('commit');
      return json === undefined ? commitIn(explorerStateIn(state)) : Number(json);
    },
    firstTrainStepAfter: (exploreStep) => {
      const { first } = sql.firstAfter.get(exploreStep) ?? {};
      return typeof first === 'number' ? first : undefined;
    },
    counts: () => {
      const { experiences, prunedTrained = 0, prunedDropped = 0 } = readLedger(state);
      const { trained, used } = sql.usedRows.get() ?? {};
      return {
        total: experiences + prunedTrained + prunedDropped,
        trained: Number(trained) + prunedTrained,
        dropped: Number(used) - Number(trained) + prunedDropped,
      };
    },
    close: () => {
      database.close();
      release();
    },
  };
}

function explorerStateIn(state: StateTable): JsonState | undefined {
  const json = state.get('explorer');
  return json === undefined ? undefined : (JSON.parse(json) as JsonState);
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined;

type Statements = ReturnType<typeof prepareStatements>;

/**
 * Inserts rows.
 * @throws BufferError if a uid is already stored
 */
function insertRows(
  sql: Statements,
  batch: readonly Omit<StoredExperience, 'id'>[],
  lastId: number,
): readonly StoredRow[] {
  const repeated: string[] = [];
  const rows = batch.map((row, i) => {
    const { key, policyVersion, bytes } = row;
    const id = lastId + 1 + i;
    const checksum = experienceChecksum({ id, ...row });
    const { changes } = sql.insert.run(id, key, policyVersion, bytes, checksum);
    if (changes === 0) repeated.push(key);
    return { id, policyVersion, uid: key };
  });
  if (repeated.length > 0) throw duplicateError(repeated);
  return rows;
}

/** Maximum number of bytes that are kept in memory after they have been stored. */
const keptBytes = 64 * 2 ** 20;

/**
 * Creates a cache for the encoded bytes of the newest rows. A trainer that keeps up with the
 * explorer reads these next. Without the cache, the database takes half of the time of a read.
 */
function newestBytes() {
  let byId: ReadonlyMap<number, Uint8Array> = new Map();
  return {
    of: (id: number): Uint8Array | undefined => byId.get(id),
    replace: (
      rows: readonly StoredRow[],
      encoded: readonly Pick<StoredExperience, 'bytes'>[],
    ): void => {
      const total = encoded.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
      byId = new Map(total > keptBytes ? [] : rows.map(({ id }, i) => [id, encoded[i]!.bytes]));
    },
  };
}

/**
 * Reads an experience.
 * @throws BufferError if the experience is missing or damaged
 */
function readRow(sql: Statements, id: number): Experience {
  const row = sql.read.get(id);
  if (!row) throw damagedStore(`Experience ${id} is missing`);
  return readStored(row);
}

/**
 * Calls `read` within one transaction, so that it sees a consistent snapshot even if another
 * process writes to the database.
 */
function atOneMoment<T>(database: DatabaseSync, read: () => T): T {
  database.exec('BEGIN');
  try {
    return read();
  } finally {
    database.exec('ROLLBACK');
  }
}

/**
 * Calls `work` in a transaction, and converts errors of the database to a BufferError.
 * @param what verb phrase used in error messages, such as "roll back"
 */
function transaction<T>(database: DatabaseSync, what: string, work: () => T): T {
  try {
    return inTransaction(database, work);
  } catch (cause) {
    if (TrinityError.is(cause)) throw cause;
    throw new BufferError(
      `The experience store could not ${what}: ${(cause as Error).message}. Nothing was changed. Check the disk.`,
      { code: 'BUFFER_STORAGE', cause },
    );
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    insert: database.prepare(
      'INSERT INTO experience (id, uid, policy_version, bytes, checksum) VALUES (?, ?, ?, ?, ?) ON CONFLICT (uid) DO NOTHING',
    ),
    read: database.prepare(`SELECT ${storedColumns} FROM experience WHERE id = ?`),
    settle: database.prepare(
      'INSERT INTO used (train_step, dropped, id, used_at, checksum, advantage) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    tokenAdvantage: database.prepare(
      'INSERT INTO token_advantage (id, train_step, bytes) VALUES (?, ?, ?)',
    ),
    lastStep: database.prepare('SELECT coalesce(max(train_step), 0) AS step FROM used'),
    lateAfter: database.prepare(
      'SELECT coalesce(sum(dropped), 0) AS late FROM used WHERE train_step > ?',
    ),
    usedUpTo: database.prepare(
      'SELECT id, count(*) AS uses, sum(dropped) AS late FROM used GROUP BY id HAVING max(train_step) <= ?',
    ),
    deleteUses: database.prepare('DELETE FROM used WHERE id = ?'),
    deleteExperience: database.prepare('DELETE FROM experience WHERE id = ? RETURNING checksum'),
    reusable: database.prepare(
      'SELECT e.id, e.policy_version, e.uid, count(u.id) AS uses, max(u.train_step) AS last, max(u.used_at) AS at FROM experience e LEFT JOIN used u ON u.id = e.id AND u.train_step <= ? GROUP BY e.id HAVING coalesce(max(u.dropped), 0) = 0 ORDER BY e.id',
    ),
    recordsAfter: database.prepare(
      'SELECT id, train_step, dropped FROM used WHERE train_step > ? ORDER BY rowid',
    ),
    usedRows: database.prepare(
      'SELECT count(DISTINCT id) AS used, count(DISTINCT CASE WHEN dropped = 0 THEN id END) AS trained FROM used',
    ),
    unsettle: database.prepare('DELETE FROM used WHERE train_step > ?'),
    firstAfter: database.prepare(
      "SELECT min(train_step) AS first FROM used JOIN experience USING (id) WHERE CAST(substr(uid, 1, instr(uid, '/') - 1) AS INTEGER) > ?",
    ),
    unsettled: database.prepare(
      'SELECT id, policy_version, uid FROM experience WHERE id > ? AND id NOT IN (SELECT id FROM used) ORDER BY id',
    ),
  };
}
