/**
 * Packs rows into micro-batches within a memory budget, and creates the arrays of a micro-batch.
 */
import type { Row } from './rows.js';
import { ungrouped, type PromptGroup } from './prompt-groups.js';
import type { MemoryCost } from './memory.js';

/** Rows that a graph computes together. */
export interface MicroBatch {
  readonly groups: readonly PromptGroup[];
  /** Rows of the groups, one group after another. */
  readonly rows: readonly Row[];
  /**
   * Padded number of inputs per group. The inputs of a row are its tokens without the last one. At
   * least 2, see {@link toArrays}.
   */
  readonly time: number;
  /** Number of response tokens in all rows. */
  readonly picked: number;
}

/**
 * A group shorter than this fraction of the longest group starts a new micro-batch, unless the
 * current micro-batch is still small.
 */
const shortestShare = 0.5;
const smallBatchPositions = 1024;

/** Number of bisection steps in the search for the smallest budget. */
const balanceRounds = 6;

/** Calls {@link planGroups} with groups of one row each. */
export const planMicroBatches = (
  rows: readonly Row[],
  cost: MemoryCost,
  budget: number,
): readonly MicroBatch[] => planGroups(rows.map(ungrouped), cost, budget);

/**
 * Packs groups into few micro-batches within the budget. Longer groups come first, and groups of
 * equal length keep the order of the batch. Then balances the micro-batches: searches, with {@link
 * balanceRounds} bisections, for the smallest budget that needs no more micro-batches. A group that
 * exceeds the budget gets its own micro-batch. The result depends only on the arguments, never on
 * time or memory in use.
 */
export function planGroups(
  groups: readonly PromptGroup[],
  cost: MemoryCost,
  budget: number,
): readonly MicroBatch[] {
  const sorted = groups.toSorted((a, b) => b.length - a.length || firstIndex(a) - firstIndex(b));
  let best = pack(sorted, cost, budget);
  let [low, high] = [budget / best.length, budget];
  for (let round = 0; round < balanceRounds && best.length > 1; round++) {
    const middle = (low + high) / 2;
    const plan = pack(sorted, cost, middle);
    if (plan.length > best.length) {
      low = middle;
    } else {
      best = plan;
      high = middle;
    }
  }
  return best;
}

const firstIndex = ({ rows }: PromptGroup): number => rows[0]?.index ?? 0;

function pack(
  sorted: readonly PromptGroup[],
  cost: MemoryCost,
  budget: number,
): readonly MicroBatch[] {
  const batches: { groups: PromptGroup[]; time: number; picked: number }[] = [];
  for (const group of sorted) {
    const open = batches.at(-1);
    const fits =
      open &&
      cost(open.groups.length + 1, open.time, open.picked + group.count) <= budget &&
      (group.length >= open.time * shortestShare ||
        open.groups.length * open.time < smallBatchPositions);
    if (open && fits) {
      open.groups.push(group);
      open.picked += group.count;
    } else {
      batches.push({ groups: [group], time: Math.max(2, group.length), picked: group.count });
    }
  }
  return batches.map((batch) => ({ ...batch, rows: batch.groups.flatMap(({ rows }) => rows) }));
}

/** Inputs of the training graphs, as listed in the table in `model/training-graphs.ts`. */
export interface MicroBatchArrays {
  readonly ids: Int32Array;
  readonly rows: Int32Array;
  readonly targets: Int32Array;
  readonly inverseTemperature: Float32Array;
  readonly spread: Int32Array;
  /**
   * Position and row of each input; set only if a group has several rows. Rows are numbered from 1.
   * Shared inputs have number 0.
   */
  readonly branching?: { readonly positions: BigInt64Array; readonly branches: Int32Array };
  /**
   * Number R of selected positions including padding; a multiple of the number of parts of the
   * head.
   */
  readonly padded: number;
}

/**
 * Creates the arrays of a micro-batch. The selected positions of all rows come one row after
 * another, followed by at least one padding row with gradient 0. In `spread`, positions that are
 * not selected refer to the last padding row. Inputs are padded to at least 2 positions per row,
 * because the matrix-vector kernel for a single position rounds differently. Inputs and parts of
 * the head are also padded to at least `leastRows` positions, because fewer might be rounded
 * differently.
 */
export function toArrays(batch: MicroBatch, chunks: number, leastRows = 2): MicroBatchArrays {
  const { time } = batch;
  const padded = Math.max(leastRows, Math.ceil((batch.picked + 1) / chunks)) * chunks;
  const ids = new Int32Array(Math.max(batch.groups.length, Math.ceil(leastRows / time)) * time);
  const rows = new Int32Array(padded);
  const targets = new Int32Array(padded);
  const inverseTemperature = new Float32Array(padded).fill(1);
  const spread = new Int32Array(ids.length).fill(padded - 1);
  let at = 0;
  batch.groups.forEach(({ rows: members, starts, shared }, b) => {
    members.forEach((row, member) => {
      const start = starts[member] ?? 0;
      ids.set(row.tokens.subarray(0, shared), b * time);
      ids.set(row.tokens.subarray(shared, -1), b * time + (shared && start));
      for (let i = 0; i < row.count; i++, at++) {
        const position = b * time + start + i;
        rows[at] = position;
        targets[at] = row.tokens[row.promptLength + i]!;
        inverseTemperature[at] = row.inverseTemperature;
        spread[position] = at;
      }
    });
  });
  const branching = batch.groups.some(({ shared }) => shared > 0)
    ? branchesOf(batch, ids.length)
    : undefined;
  return { ids, rows, targets, inverseTemperature, spread, branching, padded };
}

function branchesOf({ groups, time }: MicroBatch, size: number) {
  const positions = BigInt64Array.from({ length: size }, (_, i) => BigInt(i % time));
  const branches = new Int32Array(size);
  for (const [b, { rows, starts, shared }] of groups.entries()) {
    if (shared === 0) continue;
    for (const [member, { count }] of rows.entries()) {
      const start = b * time + (starts[member] ?? 0);
      branches.fill(member + 1, start, start + count);
      for (let i = 0; i < count; i++) positions[start + i] = BigInt(shared + i);
    }
  }
  return { positions, branches };
}

/**
 * Copies the values at selected positions from an array for the whole batch into the order of
 * {@link toArrays}. Padding is 0. [R]
 */
export function gatherPicked(
  batch: MicroBatch,
  numbers: Float32Array,
  padded: number,
): Float32Array {
  const out = new Float32Array(padded);
  let at = 0;
  for (const row of batch.rows) {
    out.set(numbers.subarray(row.offset, row.offset + row.count), at);
    at += row.count;
  }
  return out;
}

/** Copies values in the order of {@link toArrays} back to an array for the whole batch. */
export function scatterPicked(batch: MicroBatch, picked: Float32Array, into: Float32Array): void {
  let at = 0;
  for (const row of batch.rows) {
    into.set(picked.subarray(at, at + row.count), row.offset);
    at += row.count;
  }
}
