/**
 * Assigns the temporary storages of a plan to slots. Storages that are not needed at the same time
 * share a slot.
 */

/** Size of a storage, and the indices of the first and the last dispatch that need it. */
export interface Span {
  readonly first: number;
  readonly last: number;
  readonly bytes: number;
}

interface Slots {
  /** Size of each slot, in bytes. */
  readonly bytes: readonly number[];
  /** Index of the slot that is assigned to each span. */
  readonly of: readonly number[];
}

/**
 * Assigns a slot to each span, in the order of their first dispatches: the smallest free slot that
 * is large enough, otherwise the largest free slot, which is enlarged, otherwise a new slot.
 */
export function assignSlots(spans: readonly Span[]): Slots {
  const bytes: number[] = [];
  const of = spans.map(() => -1);
  const order = [...spans.keys()].toSorted((a, b) => spans[a]!.first - spans[b]!.first);
  const ends: number[] = [];
  for (const index of order) {
    const span = spans[index]!;
    const free = [...bytes.keys()].filter((slot) => ends[slot]! < span.first);
    const fitting = free.filter((slot) => bytes[slot]! >= span.bytes);
    const by = (slot: number): number => bytes[slot]!;
    const slot = least(fitting, by) ?? least(free, (each) => -by(each)) ?? bytes.length;
    bytes[slot] = Math.max(bytes[slot] ?? 0, span.bytes);
    ends[slot] = span.last;
    of[index] = slot;
  }
  return { bytes, of };
}

function least(items: readonly number[], by: (item: number) => number): number | undefined {
  let best = items[0];
  for (const item of items) if (best === undefined || by(item) < by(best)) best = item;
  return best;
}
