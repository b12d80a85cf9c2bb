/**
 * Transactions on one SQLite connection. While a write is in progress, further writes are collected
 * and then share one commit, so that the disk is flushed only once.
 */
import { TrinityError, BufferError, CancelledError, sleep, systemClock } from '@trinity-rft/core';
import { isBusy } from '@trinity-rft/core/store';
import { CompiledQuery, type Kysely } from 'kysely';
import type { Patience, RunDatabase, Work, WriteOptions } from './run-database.js';
import type { Tables } from './tables.js';

interface Job {
  readonly what: string;
  readonly work: Work<unknown>;
  readonly options: WriteOptions<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of transactions that share a commit. */
const largestGroup = 64;
/**
 * Milliseconds that a transaction waits for the lock before a warning is logged. Other processes
 * usually hold the lock for only a few milliseconds.
 */
const noticeMs = 5000;

export interface TransactionOptions extends Patience {
  /** Description of the run store for messages. */
  readonly place: string;
  /**
   * Called before each read, and before each group of write transactions. Throws if the database
   * file was removed or replaced.
   */
  readonly assertThere: () => void;
  readonly notify: () => void;
}

interface SqliteTransactions extends Pick<RunDatabase, 'write' | 'read'> {
  /** Resolves when all transactions have ended. */
  readonly idle: () => Promise<void>;
}

export function sqliteTransactions(
  database: Kysely<Tables>,
  options: TransactionOptions,
): SqliteTransactions {
  const queue: Job[] = [];
  const open = new Set<Promise<unknown>>();
  let isFlushing = false;
  const follow = async <T>(work: Promise<T>): Promise<T> => {
    open.add(work);
    try {
      return await work;
    } finally {
      open.delete(work);
    }
  };
  const flush = async (): Promise<void> => {
    isFlushing = true;
    while (queue.length > 0) {
      const group = queue.splice(0, largestGroup);
      await database
        .connection()
        .execute((connection) => runGroup(connection, group, options))
        .catch((cause: unknown) => {
          for (const { what, reject } of group) reject(storageError(options.place, what, cause));
        });
    }
    isFlushing = false;
  };
  return {
    write: <T>(what: string, work: Work<T>, given: WriteOptions<T> = {}) =>
      follow(
        new Promise<T>((resolve, reject) => {
          queue.push({ what, work, options: given, resolve, reject } as Job);
          if (!isFlushing) void flush();
        }),
      ),
    read: (what, work) =>
      follow(
        database.connection().execute(async (connection) => {
          options.assertThere();
          await begin(connection, 'BEGIN', options);
          try {
            return await work(connection);
          } catch (cause) {
            throw storageError(options.place, what, cause);
          } finally {
            await rollBack(connection);
          }
        }),
      ),
    idle: async () => {
      while (open.size > 0) await Promise.allSettled(open);
    },
  };
}

/** Outcome of a job, reported after the commit. */
interface Settled {
  readonly notifies: boolean;
  readonly settle: () => void;
}

async function runGroup(
  connection: Kysely<Tables>,
  group: readonly Job[],
  options: TransactionOptions,
): Promise<void> {
  options.assertThere();
  const isDurable = group.some((job) => job.options.isDurable ?? true);
  await run(connection, `PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`);
  await begin(connection, 'BEGIN IMMEDIATE', options);
  const settled: Settled[] = [];
  try {
    for (const job of group) settled.push(await runJob(connection, job, options.place));
    await run(connection, 'COMMIT');
  } catch (error) {
    await rollBack(connection);
    throw error;
  }
  if (settled.some(({ notifies }) => notifies)) options.notify();
  for (const { settle } of settled) settle();
}

/**
 * Runs one job within the transaction of its group. If the job fails, its changes are undone, and
 * the transaction continues.
 * @throws the error of SQLite if the whole transaction is lost
 */
async function runJob(connection: Kysely<Tables>, job: Job, place: string): Promise<Settled> {
  await run(connection, 'SAVEPOINT job');
  try {
    const result = await job.work(connection);
    await run(connection, 'RELEASE job');
    return { notifies: job.options.notifies?.(result) ?? true, settle: () => job.resolve(result) };
  } catch (cause) {
    // After some errors (such as a full disk) SQLite has rolled back everything. Then this
    // statement fails too.
    await run(connection, 'ROLLBACK TO job');
    await run(connection, 'RELEASE job');
    const error = storageError(place, job.what, cause);
    return { notifies: false, settle: () => job.reject(error) };
  }
}

/**
 * Begins a transaction. Waits while other processes hold the lock, without blocking the event loop.
 */
async function begin(
  connection: Kysely<Tables>,
  statement: string,
  options: TransactionOptions,
): Promise<void> {
  const { place, patienceMs = 300_000, onNotice = () => undefined, stop } = options;
  const start = performance.now();
  for (let isTold = false; ;) {
    try {
      await run(connection, statement);
      if (isTold) onNotice(`${place} is free again.`);
      return;
    } catch (cause) {
      if (!isBusy(cause)) throw cause;
      const waitedMs = performance.now() - start;
      if (waitedMs > patienceMs) throw lockedError(place, waitedMs, cause);
      if (!isTold && waitedMs > noticeMs) onNotice(`${locked(place, waitedMs)} Waiting for it.`);
      isTold ||= waitedMs > noticeMs;
      if (isTold && stop?.aborted) throw stopped(place, stop);
      await sleep(systemClock, 1);
    }
  }
}

const stopped = (place: string, { reason }: AbortSignal): CancelledError =>
  new CancelledError(`Stopped while another process kept ${place} locked.`, {
    reason: 'shutdown',
    cause: reason,
  });

const run = async (connection: Kysely<Tables>, statement: string): Promise<void> => {
  await connection.executeQuery(CompiledQuery.raw(statement));
};

async function rollBack(connection: Kysely<Tables>): Promise<void> {
  try {
    await run(connection, 'ROLLBACK');
  } catch {
    // No transaction is open, because SQLite has already rolled back.
  }
}

const locked = (place: string, waitedMs: number): string =>
  `${place} has been locked by another process for ${Math.round(waitedMs / 1000)} s: one that is stopped (SIGSTOP) within a transaction, or a database browser with an open one.`;

const lockedError = (place: string, waitedMs: number, cause: unknown): BufferError =>
  new BufferError(`${locked(place, waitedMs)} Let it go on or end it, then start this one again.`, {
    code: 'STORE_LOCKED',
    cause,
  });

function storageError(place: string, what: string, cause: unknown): unknown {
  if (TrinityError.is(cause)) return cause;
  return new BufferError(`${place} could not ${what}, and nothing was changed. Check the disk.`, {
    code: 'STORE_FAILED',
    cause,
  });
}
