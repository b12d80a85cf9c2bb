/** Draws a line plot in braille characters. */
import { mean } from '@trinity-rft/core';
import { shortNumber } from './status.js';

export interface PlotOptions {
  /** Width of the whole plot, including labels, in characters. @default 72 */
  readonly width?: number;
  /** Height of the curve, without title and horizontal axis, in lines. @default 10 */
  readonly height?: number;
  /** Title, shown above the plot. @default no title */
  readonly title?: string;
  /** Lower end of the vertical axis. @default the smallest value */
  readonly yMin?: number;
  /** Upper end of the vertical axis. @default the largest value */
  readonly yMax?: number;
  /**
   * Steps of the first and the last value, shown at the ends of the horizontal axis. @default 1 and
   * the number of values
   */
  readonly steps?: readonly [first: number, last: number];
}

/**
 * Code point of the braille character without dots. Adding bits to it sets dots. A character has
 * two columns of four dots.
 */
const brailleBase = 0x2800;
const dotBits = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;

/**
 * Draws the values as a line plot and returns its lines, joined by newlines. The ends of both axes,
 * and the first and the last value, are labelled. If there are more values than columns of dots,
 * each column shows the mean of an equal share of the values. Values that are not finite leave
 * gaps. Values beyond the ends of the vertical axis are drawn at its ends.
 */
export function plotCurve(values: readonly number[], options: PlotOptions = {}): string {
  const { width = 72, title } = options;
  const height = Math.max(1, options.height ?? 10);
  const heading = title === undefined ? [] : [title];
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return [...heading, '(no values)'].join('\n');
  const bottom = options.yMin ?? known.reduce((a, b) => Math.min(a, b));
  const top = Math.max(options.yMax ?? known.reduce((a, b) => Math.max(a, b)), bottom);

  const topLabel = shortNumber(top);
  const bottomLabel = shortNumber(bottom);
  const margin = Math.max(topLabel.length, bottomLabel.length);
  const columns = Math.max(1, width - margin - 2);
  const dotRows = sampleAcross(values, columns * 2).map((value) =>
    Number.isFinite(value) ? dotRow(value, { bottom, top, dotsDown: height * 4 }) : undefined,
  );
  const curve = drawDots(dotRows, columns, height).map((line, index, { length }) => {
    const label = index === 0 ? topLabel : index === length - 1 ? bottomLabel : '';
    return `${label.padStart(margin)} ┤${line}`.trimEnd();
  });
  const axis = `${' '.repeat(margin)} └${'─'.repeat(columns)}`;
  const ends = `${' '.repeat(margin + 2)}${endLabels(values, columns, options.steps)}`;
  return [...heading, ...curve, axis, ends].join('\n');
}

/**
 * Returns the row of dots for a value, counted from 0 at the top. If all values are equal, they are
 * in the middle.
 */
function dotRow(
  value: number,
  { bottom, top, dotsDown }: { bottom: number; top: number; dotsDown: number },
): number {
  const share = top > bottom ? (value - bottom) / (top - bottom) : 0.5;
  return Math.round((1 - Math.min(1, Math.max(0, share))) * (dotsDown - 1));
}

/**
 * Returns a line with the first label at the left end of the horizontal axis and the last label at
 * its right end.
 */
function endLabels(
  values: readonly number[],
  columns: number,
  [from, to]: readonly [number, number] = [1, values.length],
): string {
  const first = `${from}: ${shortNumber(values.at(0) ?? Number.NaN)}`;
  const last = `${to}: ${shortNumber(values.at(-1) ?? Number.NaN)}`;
  return `${first.padEnd(Math.max(first.length + 1, columns - last.length))}${last}`;
}

/**
 * Returns one value per column of dots. If there are more values than columns, each column gets the
 * mean of an equal share of the values. Otherwise, values are interpolated linearly.
 */
function sampleAcross(values: readonly number[], across: number): readonly number[] {
  return Array.from({ length: across }, (_, column) => {
    if (values.length > across) {
      const start = Math.floor((column * values.length) / across);
      const end = Math.floor(((column + 1) * values.length) / across);
      return mean(values.slice(start, end).filter((value) => Number.isFinite(value)));
    }
    const position = across === 1 ? 0 : (column / (across - 1)) * (values.length - 1);
    const share = position % 1;
    const [before = Number.NaN, after = Number.NaN] = values.slice(Math.floor(position));
    return share === 0 ? before : before * (1 - share) + after * share;
  });
}

/**
 * Draws the curve as lines of braille characters. Dots of neighbouring columns are joined
 * vertically, so that a steep curve has no gaps.
 */
function drawDots(
  dotRows: readonly (number | undefined)[],
  columns: number,
  height: number,
): readonly string[] {
  const cells = Array.from({ length: height }, () => new Uint8Array(columns));
  for (const [x, row] of dotRows.entries()) {
    if (row === undefined) continue;
    const previous = dotRows[x - 1] ?? row;
    // The previous column already has its dot.
    const from = previous === row ? row : previous + Math.sign(row - previous);
    for (let y = Math.min(from, row); y <= Math.max(from, row); y++)
      cells[y >> 2]![x >> 1]! |= dotBits[x % 2]![y % 4]!;
  }
  const character = (bits: number): string =>
    bits === 0 ? ' ' : String.fromCodePoint(brailleBase + bits);
  return cells.map((line) => Array.from(line, character).join(''));
}
