/** Run stores in SQLite. The processes of one machine share one file. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { TrinityError, BufferError } from '@trinity-rft/core';
import { openSqlite, useWriteAheadLog } from '@trinity-rft/core/store';
import { Kysely, SqliteDialect, sql } from 'kysely';
import { openedFile } from '../../store/opened-file.js';
import { localNotifier, type Notifier } from './notifier.js';
import { fileNotifier } from './file-notifier.js';
import type { Patience, RunDatabase } from './run-database.js';
import { assertSchema, migrate, missingError } from './schema.js';
import { sqliteAdapter } from './sqlite-adapter.js';
import { sqliteTransactions } from './sqlite-transactions.js';
import type { Tables } from './tables.js';

export interface SqliteOptions extends Patience {
  readonly path: string;
  /** True for read-only access, which creates and changes nothing. @default false */
  readonly isReader?: boolean;
  /**
   * Returns the time of the lease clock, which all processes share, in milliseconds.
   * @default the system's monotonic clock
   */
  readonly leaseClock?: () => number;
}

/** SQLite application id: "TRXR" in ASCII. It distinguishes run stores from other databases. */
const applicationId = 0x54525852;

/**
 * Opens an SQLite database.
 * @throws BufferError if the file cannot be opened, belongs to another program, or is from a newer
 * version
 */
export async function sqliteDatabase(options: SqliteOptions): Promise<RunDatabase> {
  const { path, leaseClock = monotonicClock, isReader = false, ...waiting } = options;
  const place = `The run store ${path}`;
  if (isReader && !existsSync(path)) throw missingError(place);
  let database: DatabaseSync | undefined;
  try {
    if (!isReader) mkdirSync(dirname(path), { recursive: true });
    // Readers also open the file for writing, because a read-only connection would not remove
    // SQLite's `-wal` and `-shm` files.
    database = openSqlite(path);
    database.exec('PRAGMA busy_timeout = 5000');
    assertOurs(database, place);
    if (!isReader) claim(database);
    // The timeout is short because the retries for a lock must not block this process.
    database.exec('PRAGMA busy_timeout = 5');
    const notifier = isReader ? localNotifier() : fileNotifier(`${path}.bell`);
    const { assertThere } = openedFile(path, place, 'STORE_GONE');
    const parts = { ...waiting, place, notifier, leaseClock, assertThere, isReader };
    return await prepared(database, parts);
  } catch (cause) {
    database?.close();
    if (TrinityError.is(cause)) throw cause;
    throw new BufferError(
      `${place} cannot be opened: ${(cause as Error).message}. Expected a file on a local disk that this process may read and write.`,
      { code: 'STORE_OPEN', cause },
    );
  }
}

/**
 * Creates an in-memory database for tests and simulations. All simulated processes use the same
 * database.
 */
export async function memoryDatabase(leaseClock: () => number): Promise<RunDatabase> {
  const place = 'The run store in memory';
  return prepared(openSqlite(':memory:'), {
    place,
    notifier: localNotifier(),
    leaseClock,
    assertThere: () => undefined,
  });
}

/**
 * Returns the time of `process.hrtime` in milliseconds. All processes of a machine share this
 * clock, and only a restart of the machine resets it.
 */
const monotonicClock = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

interface Parts extends Omit<SqliteOptions, 'path'> {
  readonly place: string;
  readonly notifier: Notifier;
  readonly leaseClock: () => number;
  readonly assertThere: () => void;
}

async function prepared(database: DatabaseSync, parts: Parts): Promise<RunDatabase> {
  const { place, notifier, leaseClock, isReader = false } = parts;
  const kysely = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: sqliteAdapter(database) }),
  });
  const { idle, ...transactions } = sqliteTransactions(kysely, {
    ...parts,
    notify: notifier.notify,
  });
  if (isReader)
    await transactions.read('look for its tables', (db) => assertSchema(db, 'sqlite', place));
  else
    await transactions.write('create its tables', (db) => migrate(db, 'sqlite', place), {
      notifies: () => false,
    });
  return {
    kind: 'sqlite',
    place,
    ...transactions,
    now: () => sql<number>`${leaseClock()}`,
    sizeBytes: async (connection) => {
      const { rows } = await sql<{ bytes: number }>`
        SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()`.execute(
        connection,
      );
      return rows[0]?.bytes ?? 0;
    },
    listen: notifier.listen,
    close: async () => {
      notifier.close();
      await idle();
      await kysely.destroy();
    },
  };
}

function assertOurs(database: DatabaseSync, place: string): void {
  // Read first: another process that opens the database together with this one sets the id before
  // it creates tables.
  if (isEmpty(database)) return;
  const id = Number(database.prepare('PRAGMA application_id').get()?.['application_id']);
  if (id === applicationId) return;
  throw new BufferError(
    `${place} is a database of another program; expected a run store or no file. Name another path.`,
    { code: 'STORE_FOREIGN' },
  );
}

const isEmpty = (database: DatabaseSync): boolean =>
  database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;

function claim(database: DatabaseSync): void {
  useWriteAheadLog(database);
  if (isEmpty(database)) database.exec(`PRAGMA application_id = ${applicationId}`);
}
