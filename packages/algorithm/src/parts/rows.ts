/** The rows of a batch. */

export interface RowSpan {
  /** Range of tokens in the batch, [start, end). */
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the row spans of a batch.
 * @param offsets start of each row, and the end of the last row. [B + 1]
 */
export const rowSpans = (offsets: Int32Array): readonly RowSpan[] =>
  Array.from({ length: offsets.length - 1 }, (_, row) => ({
    start: offsets[row]!,
    end: offsets[row + 1]!,
  }));

/** Visits the tokens whose action mask is 1, in order. */
export function eachTrainedToken(
  { offsets, actionMask }: { readonly offsets: Int32Array; readonly actionMask: Uint8Array },
  visit: (token: number, row: number) => void,
): void {
  for (const [row, { start, end }] of rowSpans(offsets).entries())
    for (let t = start; t < end; t++) if (actionMask[t] === 1) visit(t, row);
}
