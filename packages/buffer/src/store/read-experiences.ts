/** Reads an experience store without owning it: whatever a run has stored, trained or not. */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { TrinityError, type Experience, BufferError } from '@trinity-rft/core';
import { eachRow } from '@trinity-rft/core/store';
import { headReader, type HeadReader } from './read-heads.js';
import { useReader, type UseReader } from './read-uses.js';
import { hasChecksums } from './schema.js';
import { readStored, storedColumns, storedColumnsOfVersion1 } from './stored-experience.js';

/** A store, opened for reading; a run that writes to it is not disturbed. */
export interface ExperienceReader extends UseReader, HeadReader {
  /**
   * Policy versions of what is stored, ascending, and how many experiences each has. For merged
   * calls, that of the oldest call.
   */
  versions(): readonly { readonly policyVersion: number; readonly count: number }[];
  /**
   * In the order in which they were stored.
   * @param policyVersion only those of this version. @default all
   */
  experiences(policyVersion?: number): Iterable<Experience>;
  /**
   * Rows after the one with this id, in the order in which they were stored; what a run adds
   * meanwhile comes with the next call.
   */
  rowsAfter(id: number, limit: number): readonly ExperienceRow[];
  /** Ids of all rows, in the order in which they were stored. */
  ids(): readonly number[];
  /** Undefined when there is no such row. */
  row(id: number): ExperienceRow | undefined;
  close(): void;
}

/** A stored experience with its place in the store, from 1. */
export interface ExperienceRow {
  readonly id: number;
  readonly experience: Experience;
}

/** @throws BufferError when the file is not there or is not an experience store */
export function readExperiences(path: string): ExperienceReader {
  if (!existsSync(path)) throw unreadable(path, 'there is no such file');
  const database = naming(path, () => {
    const sqlite = process.getBuiltinModule('node:sqlite');
    return new sqlite.DatabaseSync(path, { readOnly: true });
  });
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
      for (const row of eachRow(rows, ...parameters)) yield readStored(row);
    },
    rowsAfter: (id, limit) => naming(path, () => after.all(id, limit).map(toRow)),
    ids: () => naming(path, () => ids.all().map((row) => Number(row['id']))),
    count: () => naming(path, () => heads.count()),
    newestId: () => naming(path, () => heads.newestId()),
    idsFrom: (...args) => naming(path, () => heads.idsFrom(...args)),
    idsOf: (prefix) => naming(path, () => heads.idsOf(prefix)),
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
    if (TrinityError.is(cause)) throw cause;
    throw unreadable(path, (cause as Error).message, cause);
  }
}

function unreadable(path: string, why: string, cause?: unknown): BufferError {
  return new BufferError(
    `The experiences in ${path} cannot be read: ${why}. Expected the experience store of a run (buffer/*.db in its folder).`,
    { code: 'BUFFER_UNREADABLE', details: { path }, cause },
  );
}
