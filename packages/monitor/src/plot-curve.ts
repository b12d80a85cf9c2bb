/** A line plot in characters. */
import { mean } from '@trinity-rft/core';
import { shortNumber } from './status.js';

export interface PlotOptions {
  /** Characters of the whole plot, labels included. @default 72 */
  readonly width?: number;
  /** Lines of the curve itself; title and bottom axis come on top. @default 10 */
  readonly height?: number;
  /** Line above the plot. @default none */
  readonly title?: string;
  /** Lower end of the axis. @default the smallest value */
  readonly yMin?: number;
  /** Upper end of the axis. @default the largest value */
  readonly yMax?: number;
}

/**
 * A braille character has two columns of four dots; its code point is the base plus the dots' bits.
 */
const brailleBase = 0x2800;
const dotBits = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;

/**
 * Draws values against their index, 1 on the left, as lines joined by newlines, with the ends of
 * both axes and the first and the last value. With more values than dots across, each dot is the
 * mean of an equal share of them. Values that are not finite leave gaps; values outside of the axis
 * are drawn at its ends.
 */
export function plotCurve(
  values: readonly number[],
  { width = 72, height = 10, title, yMin, yMax }: PlotOptions = {},
): string {
  const heading = title === undefined ? [] : [title];
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return [...heading, '(no values)'].join('\n');
  const bottom = yMin ?? known.reduce((a, b) => Math.min(a, b));
  const top = Math.max(yMax ?? known.reduce((a, b) => Math.max(a, b)), bottom);

  const labels = [shortNumber(top), shortNumber(bottom)] as const;
  const margin = Math.max(...labels.map((label) => label.length));
  const columns = Math.max(1, width - margin - 2);
  const dots = { across: columns * 2, down: Math.max(1, height) * 4 };
  const rowOf = (value: number): number => {
    // A flat curve runs through the middle.
    const share = top > bottom ? (value - bottom) / (top - bottom) : 0.5;
    return Math.round((1 - Math.min(1, Math.max(0, share))) * (dots.down - 1));
  };
  const cells = drawDots(
    sampleAcross(values, dots.across).map((value) =>
      Number.isFinite(value) ? rowOf(value) : undefined,
    ),
    columns,
    Math.max(1, height),
  );

  const rows = cells.map((row, index) => {
    const label = index === 0 ? labels[0] : index === cells.length - 1 ? labels[1] : '';
    return `${label.padStart(margin)} ┤${row}`.trimEnd();
  });
  const indent = ' '.repeat(margin + 2);
  const ends = [
    `1: ${shortNumber(values[0]!)}`,
    `${values.length}: ${shortNumber(values.at(-1)!)}`,
  ] as const;
  return [
    ...heading,
    ...rows,
    `${' '.repeat(margin)} └${'─'.repeat(columns)}`,
    `${indent}${ends[0].padEnd(Math.max(ends[0].length + 1, columns - ends[1].length))}${ends[1]}`,
  ].join('\n');
}

/**
 * One value per dot column: means of equal shares when there are more values than columns, straight
 * lines between them otherwise.
 */
function sampleAcross(values: readonly number[], across: number): readonly number[] {
  return Array.from({ length: across }, (_, column) => {
    if (values.length > across) {
      const share = values.slice(
        Math.floor((column * values.length) / across),
        Math.floor(((column + 1) * values.length) / across),
      );
      return mean(share.filter((value) => Number.isFinite(value)));
    }
    const position = across === 1 ? 0 : (column / (across - 1)) * (values.length - 1);
    const [before, share] = [Math.floor(position), position % 1];
    return share === 0
      ? values[before]!
      : values[before]! * (1 - share) + values[before + 1]! * share;
  });
}

/**
 * Lines of braille. Neighbouring dots are joined by a vertical stroke, so that a steep curve stays
 * one curve.
 */
function drawDots(
  rows: readonly (number | undefined)[],
  columns: number,
  height: number,
): readonly string[] {
  const cells = Array.from({ length: height }, () => new Uint8Array(columns));
  rows.forEach((row, x) => {
    if (row === undefined) return;
    const previous = rows[x - 1] ?? row;
    // The column before has its own dot already.
    const from = previous === row ? row : previous + Math.sign(row - previous);
    for (let y = Math.min(from, row); y <= Math.max(from, row); y++)
      cells[y >> 2]![x >> 1]! |= dotBits[x % 2]![y % 4]!;
  });
  return cells.map((line) =>
    Array.from(line, (bits) => (bits === 0 ? ' ' : String.fromCodePoint(brailleBase + bits))).join(
      '',
    ),
  );
}
