/** Curves of metrics, with fewer points than were recorded where those are many. */
import type { Curve } from '../interface/types.js';
import type { MetricColumn, RoleTable } from './columns.js';

export interface CurveRange {
  readonly from?: number;
  readonly to?: number;
  /** At most so many. */
  readonly points: number;
}

/** The points of a metric; of every share of them its smallest and its largest, in their order. */
export function curveOf(
  role: string,
  { steps, lines }: RoleTable,
  { name, values }: MetricColumn,
  { from = -Infinity, to = Infinity, points }: CurveRange,
): Curve {
  const kept: number[] = [];
  for (let line = 0; line < lines; line++) {
    const step = steps.at(line);
    if (step >= from && step <= to && !Number.isNaN(values.at(line))) kept.push(line);
  }
  const shown = kept.length <= points ? kept : extremes(kept, values.at, Math.floor(points / 2));
  return {
    role,
    name,
    steps: shown.map(steps.at),
    values: shown.map((line) => finite(values.at(line))),
    points: kept.length,
  };
}

function extremes(
  lines: readonly number[],
  at: (line: number) => number,
  shares: number,
): readonly number[] {
  const kept: number[] = [];
  for (let share = 0; share < shares; share++) {
    const begin = Math.floor((share * lines.length) / shares);
    const end = Math.floor(((share + 1) * lines.length) / shares);
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

/** Means of equal shares, from the first point to the last. */
export function sparklineOf(
  { lines }: RoleTable,
  { values }: MetricColumn,
  shares: number,
): readonly (number | null)[] {
  const all: number[] = [];
  for (let line = 0; line < lines; line++) {
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

/** `step,value` lines of all points. */
export function csvOf({ steps, lines }: RoleTable, { name, values }: MetricColumn): string {
  const rows = [`step,${quoted(name)}`];
  for (let line = 0; line < lines; line++) {
    const value = values.at(line);
    if (!Number.isNaN(value)) rows.push(`${steps.at(line)},${value}`);
  }
  return `${rows.join('\n')}\n`;
}

/** A name that a spreadsheet would take for a formula becomes text. */
const quoted = (name: string): string =>
  `"${(/^[=+\-@\t\r]/.test(name) ? `'${name}` : name).replaceAll('"', '""')}"`;
