/** Filters and sorts rollouts. */
import type { RunFailure } from './failures.js';
import { numberReader } from './numbers.js';
import { problemReader } from './problems.js';
import { needsNames, type Range, type RolloutQuery } from './query.js';
import type { RowIndex } from './row-index.js';

type Index = Pick<RowIndex, 'columns' | 'chains' | 'size' | 'detailed'>;
type Test = (rollout: number) => boolean;

/**
 * Returns the rollouts that match the query, in the order of the query. Does not apply the text
 * search of the query.
 */
export function matchingRollouts(
  query: RolloutQuery,
  index: Index,
  failures: ReadonlyMap<string, RunFailure>,
): Uint32Array {
  const { chains } = index;
  const tests = testsOf(query, index, failures);
  const found = new Uint32Array(chains.count());
  let count = 0;
  for (let rollout = 0; rollout < found.length; rollout++)
    if (chains.isThere(rollout) && tests.every((test) => test(rollout))) found[count++] = rollout;
  return sorted(found.subarray(0, count), index, query);
}

function testsOf(
  query: RolloutQuery,
  index: Index,
  failures: ReadonlyMap<string, RunFailure>,
): readonly Test[] {
  const { columns, chains } = index;
  const { batch, task, run, taskset, row, ranges, problem, tool, upTo } = query;
  const tests: Test[] = [(rollout) => columns.id.at(chains.first(rollout)) <= upTo];
  const equal = (read: (position: number) => number, value: number | undefined): void => {
    if (value !== undefined) tests.push((rollout) => read(chains.first(rollout)) === value);
  };
  const same = (name: 'batch' | 'task' | 'taskset', value: string | undefined): void => {
    // No row matches a text without a code.
    if (value !== undefined) equal(columns[name].codes.at, columns[name].codeOf(value) ?? -1);
  };
  same('batch', batch);
  same('task', task);
  equal(columns.run.at, run);
  if (needsNames(query)) return tests;
  const detailed = index.detailed();
  if (detailed < index.size())
    tests.push((rollout) => chains.calls(rollout).every((position) => position < detailed));
  same('taskset', taskset);
  equal(columns.row.at, row);
  tests.push(...ranges.map((range) => inRange(index, range)));
  if (tool !== undefined) tests.push(calls(index, tool));
  const problemOf = problemReader(index, failures);
  if (problem === 'any') tests.push((rollout) => problemOf(rollout) !== undefined);
  else if (problem !== undefined) tests.push((rollout) => problemOf(rollout)?.kind === problem);
  return tests;
}

function inRange(index: Index, { key, least, most }: Range): Test {
  const read = numberReader(index, key);
  // Bounds are rounded like the numbers of the index, which has single precision.
  const [low, high] = [Math.fround(least), Math.fround(most)];
  return (rollout) => {
    const value = Math.fround(read(rollout));
    return value >= low && value <= high;
  };
}

function calls({ columns: { tools }, chains }: Index, tool: string): Test {
  const codes = new Set(
    [...tools.texts()].flatMap(([names, code]) => (names.split('\n').includes(tool) ? code : [])),
  );
  return (rollout) => chains.calls(rollout).some((position) => codes.has(tools.codes.at(position)));
}

/** Sorts rollouts in place, stably. Rollouts without a value for the sort key come last. */
function sorted(
  rollouts: Uint32Array,
  index: Index,
  { sort, descending }: Pick<RolloutQuery, 'sort' | 'descending'>,
): Uint32Array {
  if (sort === 'id') return descending ? rollouts.reverse() : rollouts;
  const read = numberReader(index, sort);
  const flip = descending ? 0xff_ff_ff_ff : 0;
  // Each rollout is one 64-bit number, with the order in the upper half and the number of the
  // rollout in the lower half. Typed arrays sort numbers without a callback: a million numbers take
  // a tenth of a second.
  const keys = new BigUint64Array(rollouts.length);
  const halves = new Uint32Array(keys.buffer);
  for (const [i, rollout] of rollouts.entries()) {
    const value = read(rollout);
    halves[2 * i] = rollout;
    halves[2 * i + 1] = Number.isNaN(value) ? 0xff_ff_ff_ff : (orderOf(value) ^ flip) >>> 0;
  }
  keys.sort();
  for (let i = 0; i < rollouts.length; i++) rollouts[i] = halves[2 * i] ?? 0;
  return rollouts;
}

const one = new Float32Array(1);
const bits = new Uint32Array(one.buffer);

/**
 * Converts a number to an unsigned 32-bit integer, so that integers have the order of the numbers.
 * Rounds to single precision.
 */
function orderOf(value: number): number {
  // Turns minus zero into zero.
  one[0] = value + 0;
  const raw = bits[0] ?? 0;
  return raw >>> 31 === 1 ? ~raw >>> 0 : (raw | 0x80_00_00_00) >>> 0;
}
