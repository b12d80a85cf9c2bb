/**
 * Reads an experience store that another process may own. Includes experiences that were not
 * trained on.
 */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { TrinityError, type Experience, BufferError, describeError } from '@trinity-rft/core';
import { eachRow, openSqlite } from '@trinity-rft/core/store';
import { redactText } from '@trinity-rft/core/support';
import { headReader, type HeadReader } from './read-heads.js';
import { useReader, type UseReader } from './read-uses.js';
import { hasChecksums } from './schema.js';
import { readStored, storedColumns, storedColumnsOfVersion1 } from './stored-experience.js';

/** A store that is opened for reading. A training run can write to the store at the same time. */
export interface ExperienceReader extends UseReader, HeadReader {
  /**
   * Returns the policy versions of the stored experiences in ascending order, each with the number
   * of its experiences. An experience that merges several model calls counts for its oldest
   * version.
   */
  versions(): readonly { readonly policyVersion: number; readonly count: number }[];
  /**
   * Yields experiences in the order in which they were stored.
   * @param policyVersion version of the experiences. @default all versions
   */
  experiences(policyVersion?: number): Iterable<Experience>;
  /**
   * Returns the first `limit` rows after the row `id`, in the order in which they were stored. Call
   * it again with the last id to get further rows, including rows that were added in the meantime.
   */
  rowsAfter(id: number, limit: number): readonly ExperienceRow[];
  /** Returns the ids of all rows, in the order in which they were stored. */
  ids(): readonly number[];
  /** Returns the row with this id, or undefined if it does not exist. */
  row(id: number): ExperienceRow | undefined;
  close(): void;
}

/** A stored experience and its position in the store, from 1. */
export interface ExperienceRow {
  readonly id: number;
  readonly experience: Experience;
}

/**
 * Opens a store for reading.
 * @throws BufferError if the file does not exist or is not an experience store
 */
export function readExperiences(path: string): ExperienceReader {
  if (/^\w+:\/\//.test(path))
    throw unreadable(
      redactText(path),
      'it is an address, not the path of a file. A run whose processes meet in a database keeps its experiences in the folder of its trainer: name buffer/experience_buffer.db there',
    );
  if (!existsSync(path)) throw unreadable(path, 'there is no such file');
  const database = naming(path, () => openSqlite(path, { readOnly: true }));
  const statement = (sql: string): ReturnType<DatabaseSync['prepare']> =>
    naming(path, () => database.prepare(sql));
  const versions = statement(
    'SELECT policy_version AS version, count(*) AS count FROM experience GROUP BY policy_version ORDER BY 1',
  );
  const columns = naming(path, () => hasChecksums(database))
    ? storedColumns
    : storedColumnsOfVersion1;
  const after = statement(`SELECT ${columns} FROM experience WHERE id > ? ORDER BY id LIMIT ?`);
  const ids = statement('SELECT id FROM experience ORDER BY id');
  const one = statement(`SELECT ${columns} FROM experience WHERE id = ?`);
  const used = naming(path, () => useReader(database));
  const heads = naming(path, () => headReader(database));
  return {
    versions: () =>
      naming(path, () =>
        versions
          .all()
          .map((row) => ({ policyVersion: Number(row['version']), count: Number(row['count']) })),
      ),
    experiences: function* (policyVersion) {
      const where = policyVersion === undefined ? '' : 'WHERE policy_version = ?';
      const rows = statement(`SELECT ${columns} FROM experience ${where} ORDER BY id`);
      const parameters = policyVersion === undefined ? [] : [policyVersion];
      try {
        for (const row of eachRow(rows, ...parameters)) yield readStored(row);
      } catch (cause) {
        throw named(path, cause);
      }
    },
    rowsAfter: (id, limit) => naming(path, () => after.all(id, limit).map(toRow)),
    ids: () => naming(path, () => ids.all().map((row) => Number(row['id']))),
    count: () => naming(path, () => heads.count()),
    newestId: () => naming(path, () => heads.newestId()),
    idsFrom: (...args) => naming(path, () => heads.idsFrom(...args)),
    namesAfter: (id, limit) => naming(path, () => heads.namesAfter(id, limit)),
    idsOfRun: (key) => naming(path, () => heads.idsOfRun(key)),
    idsOfTask: (key) => naming(path, () => heads.idsOfTask(key)),
    headsAfter: (id, limit) => naming(path, () => heads.headsAfter(id, limit)),
    bytesOf: (id) => naming(path, () => heads.bytesOf(id)),
    row: (id) =>
      naming(path, () => {
        const found = one.get(id);
        return found && toRow(found);
      }),
    usedSince: (trainStep) => naming(path, () => used.usedSince(trainStep)),
    usesAfter: (place, limit) => naming(path, () => used.usesAfter(place, limit)),
    uses: (id) => naming(path, () => used.uses(id)),
    close: () => database.close(),
  };
}

const toRow = (row: Readonly<Record<string, unknown>>): ExperienceRow => ({
  id: Number(row['id']),
  experience: readStored(row),
});

function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw named(path, cause);
  }
}

/**
 * Adds the path of the store to the message of an error, because errors about damaged rows name
 * only the row.
 */
function named(path: string, error: unknown): BufferError {
  if (!TrinityError.is(error)) return unreadable(path, describeError(error), error);
  const { message, code, cause } = error;
  return new BufferError(`${path}: ${message}`, { code, details: { path }, cause });
}

function unreadable(path: string, why: string, cause?: unknown): BufferError {
  return new BufferError(
    `The experiences in ${path} cannot be read: ${why}. Expected the experience store of a run (buffer/*.db in its folder).`,
    { code: 'BUFFER_UNREADABLE', details: { path }, cause },
  );
}

/** Opens an experience store, calls `read` with it, and closes it. */
export function withReader<T>(database: string, read: (reader: ExperienceReader) => T): T {
  const reader = readExperiences(database);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}
