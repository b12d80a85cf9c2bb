/**
 * Selects the waiting rows that form a batch: a number of experiences, rollouts or tasks, from a
 * limited number of explore steps.
 */
import type { TakeFilter } from '@trinity-rft/core/store';
import type { StoredRow } from './row-driver.js';
import { exploreStepOf, runOf, taskOf } from './row-names.js';

export interface BatchRequest extends Required<TakeFilter> {
  readonly count: number;
}

export interface RowLimits {
  /** The last released explore step; rows of later explore steps are not released yet. */
  readonly lastExploreStep: number;
  /** True if no more rows will be added. The remaining rows are then the last batch. */
  readonly finished: boolean;
}

export interface PickedRows {
  readonly used: readonly StoredRow[];
  /** Rows that precede the last used row and are too old. */
  readonly stale: readonly StoredRow[];
  /** True if `used` is a batch; otherwise more rows are needed. */
  readonly complete: boolean;
}

type Unit = BatchRequest['unit'];

/**
 * Functions that return the key of the unit that a row belongs to, by the kind of unit. Rows of one
 * unit are adjacent.
 */
const memberOf: Readonly<Record<Unit, (row: StoredRow) => string | number>> = {
  experiences: ({ id }) => id,
  runs: runOf,
  tasks: taskOf,
};

/**
 * Selects the oldest rows that are released and not too old: `count` complete units, or all
 * remaining rows of `maxExploreSteps` explore steps. Stops at the last selected row, so that the
 * stale rows of a train step do not depend on the progress of the explorer.
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

/**
 * Returns the batch size, at most `count`, that cuts the remaining rows of an explore step into
 * batches of about equal size. Copies of a rollout have its key, but count as separate rollouts.
 */
function evenCount(
  rows: readonly StoredRow[],
  { count, unit, minPolicyVersion }: BatchRequest,
): number {
  const fresh = rows.filter(({ policyVersion }) => policyVersion >= minPolicyVersion);
  const end = fresh.findIndex((row) => exploreStepOf(row) !== exploreStepOf(fresh[0]!));
  const ofStep = end < 0 ? fresh : fresh.slice(0, end);
  const keys = ofStep.map(memberOf[unit]);
  const members = keys.filter((key, i) => key !== keys[i - 1]).length;
  return Math.ceil(members / Math.max(1, Math.ceil(members / count)));
}
