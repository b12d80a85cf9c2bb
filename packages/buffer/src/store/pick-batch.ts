/**
 * Selects the rows that form the next batch. Its size is a number of experiences, rollouts or
 * tasks, and the number of explore steps that it covers may be limited.
 */
import type { TakeFilter } from '@trinity-rft/core/store';
import type { StoredRow } from './row-driver.js';
import { exploreStepOf, runOf, stepNumberOf, taskOf } from './row-names.js';

export interface BatchRequest extends Required<TakeFilter> {
  readonly count: number;
}

export interface RowLimits {
  /**
   * The last explore step whose rows are released. Rows of later explore steps must not be used
   * yet.
   */
  readonly lastExploreStep: number;
  /**
   * True if no more rows will be added. The remaining rows then form the last batch, even if it is
   * too small.
   */
  readonly finished: boolean;
}

export interface PickedRows {
  readonly used: readonly StoredRow[];
  /** Rows that are too old, and that come before the last used row. */
  readonly stale: readonly StoredRow[];
  /** True if `used` is a complete batch. If false, more rows are needed. */
  readonly complete: boolean;
}

type Unit = BatchRequest['unit'];

/**
 * For each kind of unit, a function that returns the key of the unit to which a row belongs. Rows
 * of one unit are adjacent.
 */
const memberOf: Readonly<Record<Unit, (row: StoredRow) => string | number>> = {
  experiences: ({ id }) => id,
  runs: runOf,
  tasks: taskOf,
};

/**
 * Selects the oldest rows that are released and not too old: `count` complete units, or fewer if
 * `maxExploreSteps` explore steps are exhausted first. Stops at the last selected row, so that the
 * stale rows of a train step do not depend on how far the explorer has got.
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
    if (!finished && stepNumberOf(row) > lastExploreStep) break;
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
