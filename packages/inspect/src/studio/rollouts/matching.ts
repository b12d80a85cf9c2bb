/** The rows that pass a filter, in the requested order. */
import type { RunFailure } from './failures.js';
import { runNameOf } from './head.js';
import { stalenessOf, type RowColumns } from './row-index.js';
import type { Range, RowQuery, SortKey } from './query.js';

type Read = (position: number) => number;

/** Reads a number of a row; NaN if the row has no such number. */
function numberReader(columns: RowColumns, key: SortKey): Read {
  if (key === 'staleness')
    return (position) =>
      stalenessOf(columns.policyVersion.at(position), columns.trainStep.at(position)) ?? Number.NaN;
  const column = columns[key];
  return (position) => column.at(position);
}

export interface MatchOptions {
  readonly columns: RowColumns;
  /** Number of rows in the columns. */
  readonly size: number;
  readonly failures: ReadonlyMap<string, RunFailure>;
}

/** Positions of rows in the order of the query. The text of the query is not checked. */
export function matchingRows(query: RowQuery, options: MatchOptions): Uint32Array {
  const { columns, size } = options;
  const passes = filterOf(query, options);
  const found = new Uint32Array(size);
  let count = 0;
  for (let position = 0; position < size; position++)
    if (columns.id.at(position) <= query.upTo && passes(position)) found[count++] = position;
  return sorted(found.subarray(0, count), columns, query);
}

function filterOf(
  { batch, task, run, taskset, row, ranges, hasProblem }: RowQuery,
  { columns, failures }: MatchOptions,
): (position: number) => boolean {
  const tests: ((position: number) => boolean)[] = [];
  const equal = (column: { at(position: number): number }, value: number | undefined): void => {
    if (value !== undefined) tests.push((position) => column.at(position) === value);
  };
  const same = (name: 'batch' | 'task' | 'taskset', value: string | undefined): void => {
    // What no row has has no code.
    if (value !== undefined) equal(columns[name].codes, columns[name].codeOf(value) ?? -1);
  };
  same('batch', batch);
  same('task', task);
  same('taskset', taskset);
  equal(columns.run, run);
  equal(columns.row, row);
  tests.push(...ranges.map((range) => inRange(columns, range)));
  if (hasProblem) tests.push((position) => problemAt(columns, position, failures) !== undefined);
  return (position) => tests.every((test) => test(position));
}

function inRange(columns: RowColumns, { key, least, most }: Range): (position: number) => boolean {
  const read = numberReader(columns, key);
  return (position) => {
    const value = read(position);
    return value >= least && value <= most;
  };
}

/** Problem of a row: from its record, or from the log if it got the failure reward. */
function problemAt(
  columns: RowColumns,
  position: number,
  failures: ReadonlyMap<string, RunFailure>,
): string | undefined {
  const own = columns.problem.at(position);
  if (own !== undefined || failures.size === 0) return own;
  const failure = failures.get(runNameAt(columns, position));
  return failure?.isRewarded === true ? failure.message : undefined;
}

const runNameAt = ({ batch, task, run }: RowColumns, position: number): string =>
  runNameOf({
    batch: batch.at(position) ?? '',
    task: task.at(position) ?? '',
    run: run.at(position),
  });

/** Sorts positions. Rows without the number come last; equal rows keep the order of the store. */
function sorted(
  positions: Uint32Array,
  columns: RowColumns,
  { sort, descending }: Pick<RowQuery, 'sort' | 'descending'>,
): Uint32Array {
  if (sort === 'id') return descending ? positions.reverse() : positions;
  const read = numberReader(columns, sort);
  const flip = descending ? 0xff_ff_ff_ff : 0;
  // One 64-bit number per row, order in the upper half and position in the lower: typed arrays sort
  // numbers without calling back, a million of them in a tenth of a second.
  const keys = new BigUint64Array(positions.length);
  const halves = new Uint32Array(keys.buffer);
  for (const [i, position] of positions.entries()) {
    const value = read(position);
    halves[2 * i] = position;
    halves[2 * i + 1] = Number.isNaN(value) ? 0xff_ff_ff_ff : (orderOf(value) ^ flip) >>> 0;
  }
  keys.sort();
  for (let i = 0; i < positions.length; i++) positions[i] = halves[2 * i] ?? 0;
  return positions;
}

const one = new Float32Array(1);
const bits = new Uint32Array(one.buffer);

/** A 32-bit number with the same order as the value, to single precision. */
function orderOf(value: number): number {
  // Minus zero is zero.
  one[0] = value + 0;
  const raw = bits[0] ?? 0;
  return raw >>> 31 === 1 ? ~raw >>> 0 : (raw | 0x80_00_00_00) >>> 0;
}
