/** Which tokens `rec` trains, by importance ratio and sign of the advantage. */

export type RecClipMode = 'none' | 'two-side' | 'one-side' | 'gspo-one-side' | 'ring';

/** Bounds of ratios, inclusive. */
export interface ClipRanges {
  readonly inner: readonly [low: number, high: number];
  readonly outer: readonly [low: number, high: number];
}

/** The table of `rec`. `ratio` is that of the row for `gspo-one-side`. An advantage of 0 belongs to both signs. */
export function isInRange(mode: RecClipMode, ratio: number, advantage: number, { inner, outer }: ClipRanges): boolean {
  const [low, high] = inner;
  if (mode === 'none') return true;
  if (mode === 'one-side' || mode === 'gspo-one-side') return (advantage >= 0 && ratio <= high) || (advantage <= 0 && ratio >= low);
  if (ratio >= low && ratio <= high) return true;
  return mode === 'ring' && ((advantage >= 0 && ratio <= outer[0]) || (advantage <= 0 && ratio >= outer[1]));
}
