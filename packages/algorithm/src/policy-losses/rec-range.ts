/** Which tokens `rec` trains, by importance ratio and sign of the advantage. */

export type RecClipMode = 'none' | 'two-side' | 'one-side' | 'gspo-one-side' | 'ring';

/** Bounds of ratios, inclusive. */
export interface ClipRanges {
  readonly low: number;
  readonly high: number;
  readonly outerLow: number;
  readonly outerHigh: number;
}

export type RangeTest = (ratio: number, advantage: number) => boolean;

/**
 * The table of `rec`. The ratio is that of the row for `gspo-one-side`. An advantage of 0 belongs
 * to both signs.
 */
export const rangeTests: Readonly<Record<RecClipMode, (ranges: ClipRanges) => RangeTest>> = {
  none: () => () => true,
  'two-side':
    ({ low, high }) =>
    (ratio) =>
      ratio >= low && ratio <= high,
  'one-side': oneSide,
  'gspo-one-side': oneSide,
  ring:
    ({ low, high, outerLow, outerHigh }) =>
    (ratio, advantage) =>
      (ratio >= low && ratio <= high) ||
      (advantage >= 0 && ratio <= outerLow) ||
      (advantage <= 0 && ratio >= outerHigh),
};

function oneSide({ low, high }: ClipRanges): RangeTest {
  return (ratio, advantage) =>
    (advantage >= 0 && ratio <= high) || (advantage <= 0 && ratio >= low);
}
