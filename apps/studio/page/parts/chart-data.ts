/** Values of a chart, as uPlot draws them: null leaves a gap, undefined is skipped. */
import type { Curve } from '@trinity-rft/inspect/studio/interface';
import uPlot from 'uplot';
import { words } from '../words/metrics.js';

type Values = readonly (number | null)[];

/**
 * Lines to draw for a curve, by name. If values are smoothed, the recorded values are drawn behind
 * the smoothed line in a pale colour.
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

/** `JoinNullMode.NULL_EXPAND` of uPlot: a gap also spans the adjacent positions of other curves. */
const expandGaps = 2;

/**
 * Positions and lines of all curves. Values that are not finite leave gaps; values that a log scale
 * cannot show are skipped.
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
