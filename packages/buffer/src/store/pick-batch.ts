/** Choice of the waiting rows that make a batch: so many experiences, runs or tasks, within explore steps. */
import type { TakeFilter } from '@trinity-rft/core/store';
import type { StoredRow } from './row-driver.js';
import { exploreStepOf, runOf, taskOf } from './row-names.js';

export interface BatchRequest extends Required<TakeFilter> {
  readonly count: number;
}

export interface RowLimits {
  /** Rows of later explore steps may not be taken yet. */
  readonly lastExploreStep: number;
  /** No more rows will come: what is left makes the last batch. */
  readonly finished: boolean;
}

export interface PickedRows {
  readonly used: readonly StoredRow[];
  /** Rows before them that are too old. */
  readonly stale: readonly StoredRow[];
  /** True if `used` is a batch; otherwise more rows are needed. */
  readonly complete: boolean;
}

type Unit = BatchRequest['unit'];

/** Shared by rows of the same member of a batch; they are next to each other. */
const memberOf: Readonly<Record<Unit, (row: StoredRow) => string | number>> = {
  experiences: ({ id }) => id,
  runs: runOf,
  tasks: taskOf,
};

/**
 * The oldest rows that are new enough and may be taken: `count` members, whole, or all that is left
 * of `maxExploreSteps` explore steps. Rows behind the last one picked are not looked at, so that
 * what a train step drops as stale does not depend on how far the explorer is ahead.
 */
export function pickBatch(
  rows: readonly StoredRow[],
  request: BatchRequest,
  { lastExploreStep, finished }: RowLimits,
): PickedRows {
  const { unit, maxExploreSteps, minPolicyVersion } = request;
  const count = maxExploreSteps === 1 ? evenCount(rows, request) : request.count;
  const used: StoredRow[] = [];
  const stale: StoredRow[] = [];
  let [members, steps] = [0, 0];
  let last: StoredRow | undefined;
  for (const row of rows) {
    if (!finished && Number(exploreStepOf(row)) > lastExploreStep) break;
    const isNewMember = !last || memberOf[unit](row) !== memberOf[unit](last);
    const isNewStep = !last || exploreStepOf(row) !== exploreStepOf(last);
    if ((isNewMember && members === count) || (isNewStep && steps === maxExploreSteps)) break;
    if (row.policyVersion < minPolicyVersion) {
      stale.push(row);
      continue;
    }
    used.push(row);
    last = row;
    if (isNewMember) members++;
    if (isNewStep) steps++;
  }
  const isFull = members === count || steps === maxExploreSteps;
  return { used, stale, complete: used.length > 0 && (isFull || finished) };
}

/** Cuts what is left of an explore step into batches of about equal size, of at most `count`. */
function evenCount(
  rows: readonly StoredRow[],
  { count, unit, minPolicyVersion }: BatchRequest,
): number {
  const fresh = rows.filter(({ policyVersion }) => policyVersion >= minPolicyVersion);
  const end = fresh.findIndex((row) => exploreStepOf(row) !== exploreStepOf(fresh[0]!));
  const ofStep = end < 0 ? fresh : fresh.slice(0, end);
  const members = new Set(ofStep.map(memberOf[unit])).size;
  return Math.ceil(members / Math.max(1, Math.ceil(members / count)));
}
