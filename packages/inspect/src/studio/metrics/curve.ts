/** Curves of metrics, downsampled if they are long. */
import { mean } from '@trinity-rft/core';
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
 * position are one point, with the mean of their finite values.
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
  const shown = all.length <= points ? all : extremes(all, values.at, points);
  const numbers = (at: (line: number) => number) =>
    shown.map((of) => finite(finiteMean(of.map(at))));
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

/** Mean of the finite values; NaN if there are none. */
const finiteMean = (values: readonly number[]): number =>
  mean(values.filter((value) => Number.isFinite(value)));

/**
 * Groups consecutive lines that are at the same position. On the axis of tokens, for example,
 * explore steps with the same weights are.
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
 * Returns at most `points` groups: for each bucket, the groups with the smallest and the largest
 * mean and the last group without a finite mean, and the very last group.
 */
function extremes(
  groups: readonly (readonly number[])[],
  at: (line: number) => number,
  points: number,
): readonly (readonly number[])[] {
  const means = groups.map((lines) => finiteMean(lines.map(at)));
  const ofBucket = means.some(Number.isNaN) ? 3 : 2;
  const [buckets, last] = [Math.floor((points - 1) / ofBucket), groups.length - 1];
  const kept = new Set<number>();
  for (let bucket = 0; bucket < buckets; bucket++) {
    const begin = Math.floor((bucket * last) / buckets);
    const end = Math.floor(((bucket + 1) * last) / buckets);
    let low: number | undefined;
    let high: number | undefined;
    let gap: number | undefined;
    for (let i = begin; i < end; i++) {
      const value = means[i] ?? Number.NaN;
      if (Number.isNaN(value)) gap = i;
      else {
        if (low === undefined || value < (means[low] ?? 0)) low = i;
        if (high === undefined || value > (means[high] ?? 0)) high = i;
      }
    }
    const found = [low, high, gap].filter((i) => i !== undefined);
    for (const i of found.toSorted((a, b) => a - b)) kept.add(i);
  }
  kept.add(last);
  return [...kept].flatMap((i) => [groups[i] ?? []]);
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
    return finite(mean(part));
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

/**
 * Quotes a name for CSV, and prefixes it with an apostrophe if a spreadsheet would read it as a
 * formula.
 */
const quoted = (name: string): string =>
  `"${(/^[=+\-@\t\r]/.test(name) ? `'${name}` : name).replaceAll('"', '""')}"`;
