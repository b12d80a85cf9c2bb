/**
 * Converts curves to the data that uPlot draws. In this data, null is a gap; undefined is skipped
 * without a gap.
 */
import type { Curve } from '@trinity-rft/inspect/studio/interface';
import uPlot from 'uplot';
import { words } from '../words/metrics.js';

type Values = readonly (number | null)[];

/**
 * Returns the lines to draw for a curve, keyed by the end of their names in the legend. If the
 * curve is smoothed, the recorded values are drawn too, in a pale colour behind the smoothed line.
 */
export function linesOf({ values, smoothed, low, high }: Curve): Readonly<Record<string, Values>> {
  const lines: Readonly<Record<string, Values | undefined>> = {
    '': smoothed ?? values,
    ' ·': smoothed && values,
    [` ${words.low}`]: low,
    [` ${words.high}`]: high,
  };
  return Object.fromEntries(
    Object.entries(lines).flatMap(([name, of]) => (of === undefined ? [] : [[name, of]])),
  );
}

/**
 * Value of uPlot's `JoinNullMode.NULL_EXPAND`. With it, a gap extends over neighbouring positions
 * at which only other curves have values.
 */
const expandGaps = 2;

/**
 * Returns the x positions and the lines of all curves. Values that are not finite become gaps. On a
 * log scale, values that are not positive are skipped.
 */
export function dataOf(
  curves: readonly { readonly curve: Curve }[],
  isLog: boolean,
): uPlot.AlignedData {
  const tables = curves.flatMap(({ curve }) =>
    Object.values(linesOf(curve)).map((each): uPlot.AlignedData => [
      [...curve.x],
      isLog ? each.map((value) => (value !== null && value <= 0 ? undefined : value)) : [...each],
    ]),
  );
  const modes = tables.map(() => [expandGaps, expandGaps]);
  return tables.length === 0 ? [[]] : uPlot.join(tables, modes);
}
