/**
 * Stores served calls in one SQLite file. Writes wait for the disk, so this module runs in a
 * separate thread.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { describeError, TrinityError, BufferError } from '@trinity-rft/core';
import { decodeExperience, isBusy, openSqlite, type CheckedTables } from '@trinity-rft/core/store';
import { applyFeedback } from './apply-feedback.js';
import { prepareSchema, prepareStatements } from './schema.js';
import type {
  Batch,
  Feedback,
  FeedbackResult,
  RewardedCall,
  ServedCall,
  TurnCounts,
} from './turn-store.js';

export interface TurnStoreOptions {
  /** Path of the database file. The file and its folder are created if they do not exist. */
  readonly path: string;
  /**
   * Maximum number of choices without a reward that are kept. If there are more, the oldest are
   * deleted.
   * @default 100_000
   */
  readonly maxOpen?: number;
}

/** A served call whose experiences are encoded, as it is stored. */
export interface EncodedCall extends Pick<ServedCall, 'msgId' | 'session'> {
  /**
   * Encoded experiences, one for each choice and in the order of the choices. `encodeExperience`
   * creates them.
   */
  readonly experiences: readonly Uint8Array<ArrayBuffer>[];
}

/**
 * Methods of a turn store. They are synchronous and atomic: once a method returns, its effect is
 * permanent. If a method throws, nothing has changed.
 */
export interface TurnDatabase {
  readonly starts: number;
  /** Stores either all calls or none. Calls whose id is already stored are ignored. */
  record(calls: readonly EncodedCall[]): void;
  sessionOf(msgId: string): string | undefined;
  reward(feedback: Feedback): FeedbackResult;
  startBatch(step: number): Batch | undefined;
  unfinishedBatch(): Batch | undefined;
  finishBatch(step: number): void;
  lastStep(): number;
  counts(): TurnCounts;
  close(): void;
}

/**
 * Number of pages in SQLite's write-ahead log after which the log is copied to the database. Calls
 * wait while it is copied, which takes about 1 ms for 250 pages of 4 KB on an SSD. With SQLite's
 * default of 1000 pages, clients would notice the pause.
 */
const checkpointPages = 250;
/** Number of calls that are recorded before old calls without a reward are deleted again. */
const expireEvery = 256;

/**
 * Opens the database file, or creates it if it does not exist. What a method has stored survives
 * SIGKILL and a power failure.
 * @throws BufferError if the file is already open, damaged, or belongs to another program
 */
export function openTurnDatabase({ path, maxOpen = 100_000 }: TurnStoreOptions): TurnDatabase {
  const { database, tables } = open(path);
  const sql = prepareStatements(database, tables);
  const fact = (name: string): number => Number(sql.fact.get(name)?.['value'] ?? 0);
  const transaction = transactions(tables, path);
  const starts = transaction(() => {
    sql.setFact.run(fact('starts') + 1, 'starts');
    return fact('starts');
  });
  let sinceExpiry = 0;

  const batch = (step: number): Batch => ({
    step,
    calls: sql.ofBatch.all(step).map((row) => toRewarded(row, path)),
  });
  return {
    starts,
    record: (calls) => {
      const due = sinceExpiry + calls.length >= expireEvery;
      transaction(() => {
        for (const { msgId, session, experiences } of calls)
          experiences.forEach((bytes, choice) => sql.insert.run(msgId, choice, session, bytes));
        if (due) sql.expire.run(maxOpen);
      });
      sinceExpiry = due ? 0 : sinceExpiry + calls.length;
    },
    sessionOf: (msgId) => {
      const session = sql.ofMessage.get(msgId)?.['session'];
      return session === undefined ? undefined : String(session);
    },
    reward: (feedback) => transaction(() => applyFeedback(sql, feedback)),
    startBatch: (step) =>
      transaction(() => Number(sql.assign.run(step).changes)) === 0 ? undefined : batch(step),
    unfinishedBatch: () => {
      const step = sql.unfinished.get()?.['batch'];
      return step === undefined ? undefined : batch(Number(step));
    },
    finishBatch: (step) =>
      transaction(() => {
        sql.finish.run(step);
        sql.setFact.run(step, 'step');
      }),
    lastStep: () => fact('step'),
    counts: () => {
      const row = sql.counts.get() ?? {};
      const total = Number(row['total']);
      const unrewarded = Number(row['open']);
      const ready = Number(row['ready']);
      return { total, open: unrewarded, ready, committed: total - unrewarded - ready };
    },
    close: () => database.close(),
  };
}

/**
 * Converts a database row to a rewarded call.
 * @throws BufferError if the row was damaged after it was stored
 */
function toRewarded(row: Record<string, unknown>, path: string): RewardedCall {
  if (row['is_whole'] !== 1)
    throw new BufferError(
      `The call ${String(row['msg'])} in ${path} has been changed since it was stored: it differs from its checksum. Restore the file from a copy.`,
      { code: 'DATABASE_DAMAGED' },
    );
  return {
    msgId: String(row['msg']),
    choice: Number(row['choice']),
    session: String(row['session']),
    reward: Number(row['reward']),
    task: String(row['task']),
    run: row['run'] === null ? undefined : Number(row['run']),
    experience: decodeExperience(row['bytes'] as Uint8Array),
  };
}

interface Opened {
  readonly database: DatabaseSync;
  readonly tables: CheckedTables;
}

function open(path: string): Opened {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    database = openSqlite(path);
    // EXCLUSIVE: locked from the first read until the database is closed. FULL: a commit also
    // survives a power failure.
    database.exec(
      `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${checkpointPages}`,
    );
    const tables = prepareSchema(database, path);
    tables.verify();
    return { database, tables };
  } catch (cause) {
    database?.close();
    if (TrinityError.is(cause)) throw cause;
    const isLocked = isBusy(cause);
    const what = isLocked ? 'is open already' : `cannot be opened: ${describeError(cause)}`;
    throw new BufferError(
      `The store of served calls ${path} ${what}. Expected a file that only this store uses. Stop the other server.`,
      {
        code: isLocked ? 'SERVE_LOCKED' : 'SERVE_OPEN',
        cause,
      },
    );
  }
}

function transactions(tables: CheckedTables, path: string): <T>(work: () => T) => T {
  return (work) => {
    try {
      return tables.transaction(work);
    } catch (cause) {
      if (TrinityError.is(cause)) throw cause;
      throw new BufferError(
        `${path} cannot be written: ${describeError(cause)}. Nothing of the call was stored. Check the disk.`,
        { code: 'SERVE_STORAGE', cause },
      );
    }
  };
}
