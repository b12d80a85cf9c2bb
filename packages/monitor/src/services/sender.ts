/**
 * Sends the records of `metrics.jsonl` to a service, in the background. Records that the service
 * has not received stay in the file, and are read again later by this process or the next one.
 */
import { randomBytes } from 'node:crypto';
import { describeError, type Clock, type Logger, type MetricRole } from '@trinity-rft/core';
import { waitingFor } from '@trinity-rft/core/support';
import { readCursor, writeCursor, type Cursor } from './cursor.js';
import type { PreviewTable, RunOutcome, ServiceRecord, TrackedRun } from './service.js';
import { ServiceError } from './service.js';
import { recordReader } from './record-reader.js';
import { digestOf, isSent, nothingSent, withSent, type RecordPlace } from './sent-records.js';

export interface SenderOptions {
  /** Name of the service in log messages, such as `Weights & Biases`. */
  readonly title: string;
  readonly run: TrackedRun;
  /** Path of `metrics.jsonl`. */
  readonly metricsFile: string;
  readonly cursorFile: string;
  /** Roles whose records are sent. @default all roles */
  readonly roles?: readonly MetricRole[] | undefined;
  /** Returns the next table to send, or undefined if there is none. @default no tables */
  readonly nextTable?: () => PreviewTable | undefined;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Time during which records are collected into a batch, in ms. @default 2000 */
  readonly batchMs?: number;
  /**
   * Maximum time for which the end of the training run is delayed to send records, in ms. @default
   * 15_000
   */
  readonly closeMs?: number;
}

export interface Sender {
  /**
   * Opens the run at the service, so that an invalid key is reported before training starts. If the
   * service cannot be reached, the sender tries again later.
   * @param stop signal that ends the wait for the service's response
   * @throws ServiceError when the service refuses the key or the request
   */
  open(stop?: AbortSignal): Promise<void>;
  /** Notifies the sender that there are new records. Nothing is read before the first call. */
  wake(): void;
  /**
   * Sends the remaining records until the time limit, and logs the number of records that were not
   * sent.
   */
  close(outcome: RunOutcome): Promise<void>;
}

const longestBatch = 200;
const openMs = 20_000;
/**
 * Maximum time for sending the last records of an interrupted training run, in ms, if the previous
 * attempt to send records has failed.
 */
const failedCloseMs = 2000;
const tableEveryMs = 60_000;
const firstPauseMs = 1000;
const longestPauseMs = 60_000;
const beatMs = 30_000;

export function createSender(options: SenderOptions): Sender {
  const { title, run, clock, logger, cursorFile, batchMs = 2000, closeMs = 15_000 } = options;
  const reader = recordReader(options.metricsFile);
  const stopped = new AbortController();
  let cursor = readCursor(cursorFile);
  let isOpen = false;
  let pending: (ServiceRecord & RecordPlace)[] = [];
  let refused = 0;
  let failures = 0;
  let warned = false;
  let tableAt = 0;
  // The newest table, until the service shows it.
  let table: PreviewTable | undefined;
  let warnedOfTable = false;
  let working: Promise<void> | undefined;
  let isWoken = false;
  // True once the training run writes records. Before, its files may still be trimmed.
  let isWriting = false;
  let cancelTimer: (() => void) | undefined;
  // Number of records of each role that were read.
  const read: Partial<Record<MetricRole, number>> = {};

  const openRun = async (signal: AbortSignal): Promise<void> => {
    const nothing = { ...nothingSent, sent: 0 };
    // Stored before the service knows the run, so that a lost response leaves no second one.
    const opened = cursor ?? keep({ ...nothing, id: randomBytes(10).toString('hex'), url: '' });
    const { id, url, isNew } = await run.open(opened, signal);
    keep({ ...(isNew ? nothing : opened), id, url });
    isOpen = true;
    logger.info(`${title}: ${url}`);
  };

  const keep = (next: Cursor): Cursor => {
    cursor = next;
    writeCursor(cursorFile, next);
    return next;
  };

  /** Reads about 256 KiB of records. Returns false if there are no more records in the file. */
  const readMore = (): boolean => {
    const records = reader.read();
    const time = clock.now();
    for (const record of records) {
      const { role } = record;
      if (options.roles?.includes(role) === false) continue;
      const place = (read[role] ?? 0) + 1;
      read[role] = place;
      const found = { ...record, time, place, digest: digestOf(record) };
      if (!isSent(cursor ?? nothingSent, found)) pending.push(found);
    }
    return records.length > 0;
  };

  const fill = (): void => {
    while (pending.length < longestBatch && readMore());
  };

  const sendBatch = async (signal: AbortSignal): Promise<void> => {
    if (cursor === undefined) return;
    const records = pending.slice(0, longestBatch);
    try {
      await run.send({ records, first: cursor.sent }, cursor, signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.problem !== 'rejected') throw error;
      refused += records.length;
      warnOnce(`${title} does not take some records: ${error.message}`);
    }
    pending = pending.slice(records.length);
    keep({ ...cursor, ...withSent(cursor, records), sent: cursor.sent + records.length });
  };

  /**
   * Sends the newest table. A failure does not prevent records from being sent. Uses at most half
   * of the time until `endsAt`, so that the end of the run is not delayed further. A table that
   * could not be sent is sent again later, unless the service rejected it.
   */
  const showTable = async (signal: AbortSignal, endsAt?: number): Promise<void> => {
    if (run.showTable === undefined || cursor === undefined) return;
    const now = clock.now();
    if (endsAt === undefined && now - tableAt < tableEveryMs) return;
    try {
      table = options.nextTable?.() ?? table;
      if (table === undefined) return;
      tableAt = now;
      const timeMs = Math.max(0, Math.floor((endsAt === undefined ? closeMs : endsAt - now) / 2));
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeMs)]);
      await run.showTable(table, cursor, limit);
      table = undefined;
      warnedOfTable = false;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ServiceError && error.problem === 'rejected') table = undefined;
      if (!warnedOfTable)
        logger.warn(`${title} does not show the table of rollouts: ${describeError(error)}`);
      warnedOfTable = true;
    }
  };

  const beat = async (signal: AbortSignal): Promise<void> => {
    if (cursor !== undefined) await run.beat?.(cursor, signal);
  };

  const sendNew = async (signal: AbortSignal, endsAt?: number): Promise<void> => {
    fill();
    if (pending.length === 0) await beat(signal);
    for (; pending.length > 0; fill()) await sendBatch(signal);
    await showTable(signal, endsAt);
  };

  /**
   * Opens the run at the service if necessary, and sends new records.
   * @param endsAt time limit of the last attempt, at the end of the training run; undefined for
   * earlier attempts
   */
  const sendAll = async (signal: AbortSignal, endsAt?: number): Promise<void> => {
    if (!isOpen) await openRun(signal);
    if (isWriting || endsAt !== undefined) await sendNew(signal, endsAt);
    if (failures > 0) logger.info(`${title} takes records again.`);
    failures = 0;
    warned = false;
  };

  const warnOnce = (message: string): void => {
    if (!warned) logger.warn(message);
    warned = true;
  };

  /**
   * Sends new records.
   * @returns the time before the next attempt, in ms, or undefined to wait for new records
   */
  const attempt = async (): Promise<number | undefined> => {
    try {
      await sendAll(stopped.signal);
      return run.beat === undefined ? undefined : beatMs;
    } catch (error) {
      if (stopped.signal.aborted) return undefined;
      failures += 1;
      warnOnce(
        `${title}: ${describeError(error).replace(/\.$/, '')}. The run continues; its records are kept in metrics.jsonl and sent later.`,
      );
      const asked = error instanceof ServiceError ? error.retryAfterMs : 0;
      return Math.max(asked, Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)));
    }
  };

  const work = async (): Promise<void> => {
    cancelTimer = undefined;
    isWoken = false;
    const pause = await attempt();
    working = undefined;
    if (isWoken && failures === 0) schedule(batchMs);
    else if (pause !== undefined) schedule(pause);
  };

  const schedule = (ms: number): void => {
    if (stopped.signal.aborted) return;
    cancelTimer?.();
    cancelTimer = clock.after(ms, () => {
      working = work();
    });
  };

  const finish = async (outcome: RunOutcome): Promise<void> => {
    const isShort = outcome === 'interrupted' && failures > 0;
    const timeMs = isShort ? Math.min(failedCloseMs, closeMs) : closeMs;
    const signal = AbortSignal.timeout(timeMs);
    const endsAt = clock.now() + timeMs;
    try {
      await waitingFor(
        { clock, logger },
        { what: `${title} to take the last records` },
        async () => {
          try {
            await sendAll(signal, endsAt);
          } finally {
            // Also ends a run whose records the service does not take.
            if (isOpen && cursor !== undefined) await run.end(outcome, cursor, signal);
          }
        },
      );
    } catch (error) {
      const left = unsent();
      logger.warn(
        `${title}: ${describeError(error)}. ${left} ${left === 1 ? 'record was' : 'records were'} not sent; they are when the run is started again.`,
      );
    }
    if (refused > 0) logger.warn(`${title} did not take ${refused} records.`);
  };

  const unsent = (): number => {
    while (readMore());
    return pending.length;
  };

  const sender: Sender = {
    open: async (stop) => {
      try {
        const limit = AbortSignal.timeout(openMs);
        const signal = stop ? AbortSignal.any([limit, stop]) : limit;
        const wait = { what: `${title} to open the run` };
        await waitingFor({ clock, logger }, wait, () => openRun(signal));
      } catch (error) {
        if (!(error instanceof ServiceError) || error.problem !== 'unavailable') throw error;
        failures += 1;
        warnOnce(
          `${title}: ${error.message}. The run starts; its records are kept in metrics.jsonl and sent later.`,
        );
        schedule(firstPauseMs);
      }
    },
    wake: () => {
      isWriting = true;
      if (isWoken) return;
      isWoken = true;
      // After a failure, the retry is scheduled already.
      if (working === undefined && failures === 0) schedule(batchMs);
    },
    close: async (outcome) => {
      cancelTimer?.();
      stopped.abort(new Error('the run has ended'));
      await working?.catch(() => undefined);
      await finish(outcome);
    },
  };
  return sender;
}
