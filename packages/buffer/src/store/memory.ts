/** An experience store in memory, for tests and for training runs that are never resumed. */
import { type Experience, InvariantError, uid } from '@trinity-rft/core';
import { assertAligned } from '@trinity-rft/core/internal';
import type { ExperienceStore, JsonState } from '@trinity-rft/core/store';
import { duplicateError } from './errors.js';
import { leaseStore, type LeaseStoreOptions } from './lease-store.js';
import { recordedSteps } from './recorded-steps.js';
import type { RowDriver, StoredRow } from './row-driver.js';
import { stepNumberOf } from './row-names.js';
import type { Use } from './row-driver.js';

/** Creates an experience store in memory. Its contents are lost when the process ends. */
export function memoryExperienceStore(options: LeaseStoreOptions = {}): ExperienceStore {
  return leaseStore(memoryRows(), options);
}

interface MemoryRow extends StoredRow {
  readonly experience: Experience;
}

/** A row, and the train step that used or dropped it. */
interface MemoryUse extends Use {
  readonly id: number;
  readonly dropped: boolean;
}

/**
 * Creates a row driver in memory. When a store is closed, another store can be opened over the same
 * rows.
 */
export function memoryRows(): RowDriver {
  const rows: MemoryRow[] = [];
  const uids = new Set<string>();
  let uses: MemoryUse[] = [];
  let state: JsonState | undefined;

  const rowOf = (id: number): MemoryRow => {
    const row = rows[id - 1];
    if (row) return row;
    throw new InvariantError(`The store has no row ${id}.`, { code: 'ROW_UNKNOWN' });
  };

  return {
    insert: (batch, explorerState) => {
      batch.forEach(assertAligned);
      const repeated = repeatedUids(batch, uids);
      if (repeated.length > 0) throw duplicateError(repeated);
      const first = rows.length;
      for (const experience of batch) {
        const row = { policyVersion: experience.policyVersion, uid: uid(experience.eid) };
        uids.add(row.uid);
        rows.push({ ...row, id: rows.length + 1, experience });
      }
      state = explorerState ?? state;
      return rows.slice(first);
    },
    read: (wanted) => wanted.map(({ id }) => rowOf(id).experience),
    settle: ({ used, stale }, { trainStep, at }) => {
      for (const { id } of used) uses.push({ trainStep, at, id: rowOf(id).id, dropped: false });
      for (const { id } of stale) uses.push({ trainStep, at, id: rowOf(id).id, dropped: true });
    },
    unsettle: (trainStep) => {
      uses = uses.filter((use) => use.trainStep <= trainStep);
    },
    lastTrainStep: () => uses.reduce((last, { trainStep }) => Math.max(last, trainStep), 0),
    // Rows in memory need no pruning, because they end with the process.
    prune: () => undefined,
    unsettled: (after = 0) => {
      const used = new Set(uses.map(({ id }) => id));
      return rows.slice(after).filter(({ id }) => !used.has(id));
    },
    reusable: (trainStep = Infinity) =>
      withUses(
        rows,
        uses.filter((use) => use.trainStep <= trainStep),
      ),
    recordsAfter: (trainStep) => recordedSteps(uses.filter((use) => use.trainStep > trainStep)),
    explorerState: () => state,
    firstTrainStepAfter: (exploreStep) => {
      const steps = uses
        .filter(({ id }) => stepNumberOf(rowOf(id)) > exploreStep)
        .map(({ trainStep }) => trainStep);
      return steps.length === 0 ? undefined : Math.min(...steps);
    },
    counts: () => {
      const trained = new Set(uses.filter((use) => !use.dropped).map(({ id }) => id));
      const dropped = uses.filter((use) => use.dropped && !trained.has(use.id)).length;
      return { total: rows.length, trained: trained.size, dropped };
    },
    close: () => undefined,
  };
}

function withUses(rows: readonly StoredRow[], uses: readonly MemoryUse[]): StoredRow[] {
  const byId = Map.groupBy(uses, ({ id }) => id);
  return rows.flatMap((row) => {
    const own = byId.get(row.id) ?? [];
    if (own.some(({ dropped }) => dropped)) return [];
    const last = own.at(-1);
    return { ...row, uses: own.length, lastUse: last?.trainStep, lastUseAt: last?.at };
  });
}

/** Returns the uids of the batch that are already stored or occur twice in the batch. */
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
