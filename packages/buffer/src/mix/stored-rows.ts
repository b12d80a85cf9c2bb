/**
 * Makes the stored experiences of an earlier training run available as rows of a
 * `fileExperienceSource`.
 */
import { BufferError, type RawTask } from '@trinity-rft/core';
import type { FileExperienceSourceOptions } from '../supervised/file-experience-source.js';
import { readExperiences } from '../store/read-experiences.js';

export interface StoredRows extends Pick<FileExperienceSourceOptions, 'rows' | 'toExperiences'> {
  readonly close: () => void;
}

/**
 * Opens all rows of a store, in the order in which they were stored. Includes rows that were not
 * trained on. Does not change the store.
 * @throws BufferError if there is no store at `path`, or if it holds no experiences
 */
export function storedRows(path: string): StoredRows {
  const reader = readExperiences(path);
  const rows: readonly RawTask[] = reader.ids().map((id) => ({ id }));
  if (rows.length === 0) {
    reader.close();
    throw new BufferError(
      `The store of experts ${path} holds no experiences; expected at least one. Give the store of a run that has explored.`,
      { code: 'MIX_EXPERTS_EMPTY', details: { path } },
    );
  }
  return {
    rows,
    toExperiences: ({ id }) => {
      const found = reader.row(Number(id));
      return found ? [found.experience] : [];
    },
    close: () => reader.close(),
  };
}
