/** Curves of metrics, downsampled if they are long. */
import { newestOfSteps } from '../../diagnosis/index.js';
import type { Curve } from '../interface/types.js';
import type { Axis, Position } from './axis.js';
import type { Column } from './columns.js';
import type { RoleLines } from './line-index.js';

export interface CurveRange {
  readonly from?: number;
  readonly to?: number;
  /** Maximum number of points. */
  readonly points: number;
  /** Weight of the previous value in the smoothed value; 0 disables smoothing. */
  readonly smooth: number;
}

export interface CurveOf {
  readonly lines: RoleLines;
  readonly name: string;
  readonly values: Column;
  /** Ends of the interval of each value. */
  readonly low?: Column;
  readonly high?: Column;
  readonly axis: Axis;
  readonly position: Position;
}

/**
 * Points of a metric, downsampled to min/max per bucket if there are too many. Lines at the same
 * position are one point, with their mean.
 */
export function curveOf(
  { lines: { role, steps }, name, values, low, high, axis, position }: CurveOf,
  { from = -Infinity, to = Infinity, points, smooth }: CurveRange,
): Curve {
  const lines = drawnLines(steps, values, axis);
  const all = togetherAt(
    lines.filter((line) => position(line) >= from && position(line) <= to),
    position,
  );
  const shown = all.length <= points ? all : extremes(all, values.at, Math.floor(points / 2));
  const numbers = (at: (line: number) => number) => shown.map((of) => finite(meanOf(of.map(at))));
  const smoothed = smooth === 0 ? undefined : smoothedOf(lines, values, smooth);
  const firstOf = ([line = 0]: readonly number[]): number => line;
  const lastFinite = lines.findLastIndex((line) => !Number.isNaN(values.at(line)));
  const notFinite = lines[lastFinite + 1];
  return {
    role,
    name,
    axis,
    x: shown.map((of) => position(firstOf(of))),
    steps: shown.map((of) => steps.at(firstOf(of))),
    values: numbers(values.at),
    low: low?.isSet() === true ? numbers(low.at) : undefined,
    high: high?.isSet() === true ? numbers(high.at) : undefined,
    smoothed: smoothed && numbers((line) => smoothed[line] ?? Number.NaN),
    points: all.length,
    notFiniteSince: notFinite === undefined ? undefined : steps.at(notFinite),
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Groups consecutive lines at the same position: explore steps with the same weights are at the same
 * number of tokens.
 */
function togetherAt(lines: readonly number[], position: Position): readonly (readonly number[])[] {
  const groups: number[][] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && position(last[0]) === position(line)) last.push(line);
    else groups.push([line]);
  }
  return groups;
}

/**
 * Lines with a recorded value, in the order of the axis. A repeated `trinity eval` records steps again; of
 * such a step, only the newest value is drawn.
 */
function drawnLines(steps: Column, values: Column, axis: Axis): readonly number[] {
  const lines: { readonly line: number; readonly step: number }[] = [];
  let isInOrder = true;
  for (let line = 0; line < values.length(); line++) {
    if (!values.has(line)) continue;
    const step = steps.at(line);
    isInOrder &&= step > (lines.at(-1)?.step ?? -Infinity);
    lines.push({ line, step });
  }
  // Times are those of the lines, so they are always in order.
  return (isInOrder || axis === 'time' ? lines : newestOfSteps(lines)).map(({ line }) => line);
}

/**
 * Exponential moving average without a bias towards the first value. The average uses all lines, so
 * that zooming does not change it.
 */
function smoothedOf(lines: readonly number[], values: Column, share: number): Float64Array {
  const smoothed = new Float64Array(values.length()).fill(Number.NaN);
  let [sum, weight] = [0, 0];
  for (const line of lines) {
    const value = values.at(line);
    if (Number.isNaN(value)) continue;
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    smoothed[line] = sum / weight;
  }
  return smoothed;
}

/**
 * Returns the groups with the smallest and the largest mean of each bucket. A mean that is not finite
 * counts as the largest.
 */
function extremes(
  groups: readonly (readonly number[])[],
  at: (line: number) => number,
  buckets: number,
): readonly (readonly number[])[] {
  const means = groups.map((lines) => finite(meanOf(lines.map(at))) ?? Infinity);
  const kept: number[] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const begin = Math.floor((bucket * groups.length) / buckets);
    const end = Math.floor(((bucket + 1) * groups.length) / buckets);
    let [low, high] = [begin, begin];
    for (let i = begin + 1; i < end; i++) {
      if ((means[i] ?? 0) < (means[low] ?? 0)) low = i;
      if ((means[i] ?? 0) > (means[high] ?? 0)) high = i;
    }
    if (low !== high) kept.push(Math.min(low, high));
    kept.push(Math.max(low, high));
  }
  return kept.flatMap((i) => [groups[i] ?? []]);
}

/** Points of a small chart: the means of at most `shares` equal parts of a metric's values. */
export function sparklineOf(values: Column, shares: number): readonly (number | null)[] {
  const all: number[] = [];
  for (let line = 0; line < values.length(); line++) {
    const value = values.at(line);
    if (!Number.isNaN(value)) all.push(value);
  }
  const count = Math.min(shares, all.length);
  return Array.from({ length: count }, (_, share) => {
    const part = all.slice(
      Math.floor((share * all.length) / count),
      Math.floor(((share + 1) * all.length) / count),
    );
    return finite(meanOf(part));
  });
}

export const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** CSV with a `step,value` line for each point, `NaN` where the value is not finite. */
export function csvOf({ steps }: RoleLines, name: string, values: Column): string {
  const rows = [`step,${quoted(name)}`];
  for (let line = 0; line < values.length(); line++) {
    if (values.has(line)) rows.push(`${steps.at(line)},${values.at(line)}`);
  }
  return `${rows.join('\n')}\n`;
}

/** Quotes a name, and marks it as text if a spreadsheet would read it as a formula. */
const quoted = (name: string): string =>
  `"${(/^[=+\-@\t\r]/.test(name) ? `'${name}` : name).replaceAll('"', '""')}"`;
