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

/** Points of a metric, downsampled to min/max per bucket if there are too many. */
export function curveOf(
  { lines: { role, steps }, name, values, low, high, axis, position }: CurveOf,
  { from = -Infinity, to = Infinity, points, smooth }: CurveRange,
): Curve {
  const lines = drawnLines(steps, values, axis);
  const kept = lines.filter((line) => position(line) >= from && position(line) <= to);
  const shown = kept.length <= points ? kept : extremes(kept, values.at, Math.floor(points / 2));
  const numbers = (of: Column) => shown.map((line) => finite(of.at(line)));
  const smoothed = smooth === 0 ? undefined : smoothedOf(lines, values, smooth);
  return {
    role,
    name,
    axis,
    x: shown.map(position),
    steps: shown.map(steps.at),
    values: numbers(values),
    low: low?.isSet() === true ? numbers(low) : undefined,
    high: high?.isSet() === true ? numbers(high) : undefined,
    smoothed: smoothed && shown.map((line) => finite(smoothed[line] ?? Number.NaN)),
    points: kept.length,
  };
}

/**
 * Lines with a value, in the order of the axis. A repeated `trinity eval` records steps again; of
 * such a step, only the newest value is drawn.
 */
function drawnLines(steps: Column, values: Column, axis: Axis): readonly number[] {
  const lines: { readonly line: number; readonly step: number }[] = [];
  let isInOrder = true;
  for (let line = 0; line < values.length(); line++) {
    if (Number.isNaN(values.at(line))) continue;
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
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    smoothed[line] = sum / weight;
  }
  return smoothed;
}

function extremes(
  lines: readonly number[],
  at: (line: number) => number,
  buckets: number,
): readonly number[] {
  const kept: number[] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const begin = Math.floor((bucket * lines.length) / buckets);
    const end = Math.floor(((bucket + 1) * lines.length) / buckets);
    let [low, high] = [lines[begin] ?? 0, lines[begin] ?? 0];
    for (let i = begin + 1; i < end; i++) {
      const line = lines[i] ?? 0;
      if (at(line) < at(low)) low = line;
      if (at(line) > at(high)) high = line;
    }
    if (low !== high) kept.push(Math.min(low, high));
    kept.push(Math.max(low, high));
  }
  return kept;
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
    return finite(part.reduce((sum, value) => sum + value, 0) / part.length);
  });
}

export const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** CSV with a `step,value` line for each point. */
export function csvOf({ steps }: RoleLines, name: string, values: Column): string {
  const rows = [`step,${quoted(name)}`];
  for (let line = 0; line < values.length(); line++) {
    const value = values.at(line);
    if (!Number.isNaN(value)) rows.push(`${steps.at(line)},${value}`);
  }
  return `${rows.join('\n')}\n`;
}

/** Quotes a name, and marks it as text if a spreadsheet would read it as a formula. */
const quoted = (name: string): string =>
  `"${(/^[=+\-@\t\r]/.test(name) ? `'${name}` : name).replaceAll('"', '""')}"`;
