/** Reads ids and a few fields (the head) of many stored experiences, for use in lists. */
import type { DatabaseSync } from 'node:sqlite';
import type { Eid, Experience, CallSpan } from '@trinity-rft/core';
import { decodeFields } from '@trinity-rft/core/store';
import { hasChecksums } from './schema.js';
import { readLedger } from './ledger.js';
import { stateTable } from './state-table.js';

/** Fields of an experience that lists show. */
export interface ExperienceHead extends Pick<
  Experience,
  'eid' | 'tokens' | 'promptLength' | 'actionMask' | 'policyVersion' | 'reward' | 'info'
> {
  readonly id: number;
  readonly truncateStatus?: Experience['truncateStatus'];
  readonly spans?: readonly CallSpan[];
  /** Mean of the stored advantages over the trained tokens. */
  readonly advantage?: number;
}

interface RowName {
  readonly id: number;
  readonly uid: string;
}

interface IdOrder {
  readonly newestFirst: boolean;
  /** Largest id to include. @default no limit */
  readonly upTo?: number;
}

export interface HeadReader {
  /** Returns the number of rows in the store. */
  count(): number;
  /** Returns the largest id, or 0 if the store is empty. */
  newestId(): number;
  /** Returns the ids of up to `limit` rows in the given order, skipping the first `offset` rows. */
  idsFrom(offset: number, limit: number, order: IdOrder): readonly number[];
  /**
   * Returns the names of the first `limit` rows after the row `id`, in the order in which they were
   * stored.
   */
  namesAfter(id: number, limit: number): readonly RowName[];
  /** Returns the ids of a rollout's rows by its `runKey`, in the order in which they were stored. */
  idsOfRun(runKey: string): readonly number[];
  /**
   * Returns the ids of the rows of a task's rollouts by its `taskKey`, in the order in which they
   * were stored. Rows of task `order/17` are not among those of task `order`.
   */
  idsOfTask(taskKey: string): readonly number[];
  /**
   * Returns the heads of the first `limit` rows after the row `id`, in the order in which they were
   * stored. Does not verify checksums.
   */
  headsAfter(id: number, limit: number): readonly ExperienceHead[];
  /**
   * Returns the stored bytes of a row, with text in UTF-8, or undefined if the row does not exist.
   */
  bytesOf(id: number): Uint8Array | undefined;
}

export function headReader(database: DatabaseSync): HeadReader {
  const ends = database.prepare(
    'SELECT (SELECT min(id) FROM experience) AS first, (SELECT max(id) FROM experience) AS last',
  );
  const counted = database.prepare('SELECT count(*) AS count FROM experience');
  const page = (order: string): ReturnType<DatabaseSync['prepare']> =>
    database.prepare(
      `SELECT id FROM experience WHERE id <= ? ORDER BY id ${order} LIMIT ? OFFSET ?`,
    );
  const [oldest, newest] = [page('ASC'), page('DESC')];
  const prefixed = database.prepare(
    'SELECT id, uid FROM experience WHERE uid >= ? AND uid < ? ORDER BY id',
  );
  const after = database.prepare(
    'SELECT id, bytes FROM experience WHERE id > ? ORDER BY id LIMIT ?',
  );
  const names = database.prepare('SELECT id, uid FROM experience WHERE id > ? ORDER BY id LIMIT ?');
  const one = database.prepare('SELECT bytes FROM experience WHERE id = ?');
  const ledger = hasChecksums(database) ? stateTable(database) : undefined;
  const count = (): number =>
    ledger ? readLedger(ledger).experiences : Number(counted.get()?.['count']);
  /** Ids of the rows whose uid is `key`, a slash and `parts` parts separated by slashes. */
  const idsBelow = (key: string, parts: number): readonly number[] =>
    prefixed
      .all(`${key}/`, `${key}/\u{10ffff}`)
      .filter(
        ({ uid }) =>
          String(uid)
            .slice(key.length + 1)
            .split('/').length === parts,
      )
      .map((row) => Number(row['id']));
  return {
    count,
    newestId: () => Number(ends.get()?.['last'] ?? 0),
    idsFrom: (offset, limit, { newestFirst, upTo = Number.MAX_SAFE_INTEGER }) => {
      const { first, last } = ends.get() ?? {};
      if (typeof first !== 'number' || typeof last !== 'number') return [];
      const end = Math.min(last, upTo);
      // If no row was deleted, ids have no gaps, and are computed instead of read.
      if (last - first + 1 === count())
        return idsBetween(first, end, { offset, limit, newestFirst });
      const rows = (newestFirst ? newest : oldest).all(end, limit, offset);
      return rows.map((row) => Number(row['id']));
    },
    namesAfter: (id, limit) =>
      names.all(id, limit).map((row) => ({ id: Number(row['id']), uid: String(row['uid']) })),
    idsOfRun: (runKey) => idsBelow(runKey, 2),
    idsOfTask: (taskKey) => idsBelow(taskKey, 3),
    headsAfter: (id, limit) => after.all(id, limit).map(toHead),
    bytesOf: (id) => one.get(id)?.['bytes'] as Uint8Array | undefined,
  };
}

function idsBetween(
  first: number,
  last: number,
  { offset, limit, newestFirst }: { offset: number; limit: number; newestFirst: boolean },
): readonly number[] {
  const length = Math.max(0, Math.min(limit, last - first + 1 - offset));
  return Array.from({ length }, (_, i) => (newestFirst ? last - offset - i : first + offset + i));
}

const headFields = new Set([
  'eid',
  'tokens',
  'promptLength',
  'actionMask',
  'policyVersion',
  'reward',
  'info',
  'truncateStatus',
  'spans',
  'advantages',
]);

function toHead(row: Readonly<Record<string, unknown>>): ExperienceHead {
  const fields = decodeFields(row['bytes'] as Uint8Array, headFields);
  const actionMask = fields['actionMask'] as Uint8Array;
  return {
    id: Number(row['id']),
    eid: fields['eid'] as Eid,
    tokens: new Int32Array(copied(fields['tokens'])),
    promptLength: Number(fields['promptLength']),
    actionMask,
    policyVersion: Number(fields['policyVersion']),
    reward: fields['reward'] as number | undefined,
    info: fields['info'] as Experience['info'],
    truncateStatus: fields['truncateStatus'] as Experience['truncateStatus'],
    spans: fields['spans'] as readonly CallSpan[] | undefined,
    advantage: meanOf(fields['advantages'], actionMask),
  };
}

/**
 * Copies bytes to a new buffer. In the record they may start at an offset that is not aligned for a
 * typed array.
 */
const copied = (bytes: unknown): ArrayBuffer => new Uint8Array(bytes as Uint8Array).buffer;

function meanOf(stored: unknown, mask: Uint8Array): number | undefined {
  if (stored === undefined) return undefined;
  const values = new Float32Array(copied(stored));
  let [sum, trained] = [0, 0];
  for (const [i, bit] of mask.entries()) {
    if (bit === 0) continue;
    sum += values[i] ?? 0;
    trained++;
  }
  return trained === 0 ? undefined : sum / trained;
}
