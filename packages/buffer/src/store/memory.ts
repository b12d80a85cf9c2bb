/** An experience store in memory: for tests, and for runs that need not survive their process. */
import { type Experience, type ExperienceStore } from '@trinity-rft/core';
import { assertAligned, InvariantError, uid, type JsonState } from '@trinity-rft/core/internal';
import type { RowDriver, StoredRow } from './row-driver.js';
import { duplicateError } from './errors.js';
import { leaseStore, type LeaseStoreOptions } from './lease-store.js';

/** An experience store that ends with its process. Same contract as every other driver. */
export function memoryExperienceStore(options: LeaseStoreOptions = {}): ExperienceStore {
  return leaseStore(memoryRows(), options);
}

interface MemoryRow extends StoredRow {
  readonly experience: Experience;
  trainStep: number | undefined;
  dropped: boolean;
}

function memoryRows(): RowDriver {
  const rows: MemoryRow[] = [];
  const uids = new Set<string>();
  let state: JsonState | undefined;

  const rowOf = (id: number): MemoryRow => {
    const row = rows[id - 1];
    if (row) return row;
    throw new InvariantError(`The store has no row ${id}.`, { code: 'ROW_UNKNOWN' });
  };
  const mark = (targets: readonly StoredRow[], trainStep: number, dropped: boolean): void => {
    for (const { id } of targets) Object.assign(rowOf(id), { trainStep, dropped });
  };
  const settled = (dropped: boolean): number =>
    rows.filter((row) => row.trainStep !== undefined && row.dropped === dropped).length;

  return {
    insert: (batch, explorerState) => {
      batch.forEach(assertAligned);
      const repeated = repeatedUids(batch, uids);
      if (repeated.length > 0) throw duplicateError(repeated);
      const first = rows.length;
      for (const experience of batch) {
        uids.add(uid(experience.eid));
        rows.push({
          id: rows.length + 1,
          policyVersion: experience.policyVersion,
          uid: uid(experience.eid),
          experience,
          trainStep: undefined,
          dropped: false,
        });
      }
      state = explorerState ?? state;
      return rows.slice(first);
    },
    read: (wanted) => wanted.map(({ id }) => rowOf(id).experience),
    settle: (used, dropped, trainStep) => {
      mark(used, trainStep, false);
      mark(dropped, trainStep, true);
    },
    unsettle: (trainStep) => {
      for (const row of rows)
        if (row.trainStep !== undefined && row.trainStep > trainStep) row.trainStep = undefined;
    },
    trainedUpTo: () => rows.reduce((last, { trainStep = 0 }) => Math.max(last, trainStep), 0),
    // What ends with its process has nothing to keep or to delete.
    prune: () => undefined,
    unsettled: (after = 0) => rows.slice(after).filter((row) => row.trainStep === undefined),
    explorerState: () => state,
    firstTrainStepAfter: (exploreStep) => {
      const steps = rows
        .filter(({ experience }) => Number(experience.eid.batch) > exploreStep)
        .flatMap(({ trainStep }) => trainStep ?? []);
      return steps.length === 0 ? undefined : Math.min(...steps);
    },
    counts: () => ({ total: rows.length, trained: settled(false), dropped: settled(true) }),
    close: () => undefined,
  };
}

/** Uids of the batch that are stored already, or appear in it twice. */
function repeatedUids(
  batch: readonly Experience[],
  stored: ReadonlySet<string>,
): readonly string[] {
  const seen = new Set<string>();
  return batch
    .map((experience) => uid(experience.eid))
    .filter((key) => {
      const repeated = stored.has(key) || seen.has(key);
      seen.add(key);
      return repeated;
    });
}
