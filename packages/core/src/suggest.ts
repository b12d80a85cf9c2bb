/** "Did you mean": finds the known word that is closest to a mistyped one. */

/**
 * Returns the known word that is closest to `word`. Returns undefined if no known word is close: at
 * most one letter or a third of the letters may differ, unless one word contains the other and both
 * have at least 4 letters.
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const wanted = normalise(word);
  let best: string | undefined;
  let bestScore = Infinity;
  for (const candidate of known) {
    const other = normalise(candidate);
    const limit = Math.max(1, Math.floor(Math.max(wanted.length, other.length) / 3));
    const contained =
      Math.min(wanted.length, other.length) >= 4 &&
      (other.includes(wanted) || wanted.includes(other));
    const distance = editDistance(wanted, other);
    const score = distance <= limit ? distance : contained ? limit + 1 : Infinity;
    if (score < bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

/** Returns ` Did you mean "x"?`, or an empty string if no known word is close. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const found = nearest(word, known);
  return found === undefined ? '' : ` Did you mean "${found}"?`;
}

const normalise = (word: string): string => word.toLowerCase().replaceAll(/[-_ .]/g, '');

/**
 * Returns the number of insertions, deletions, substitutions and swaps of neighbouring letters that
 * turn `a` into `b` (optimal string alignment). A swap, the most common typing error, counts as one
 * edit here and as two in most libraries.
 */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        previous[column]! + 1,
        current[column - 1]! + 1,
        previous[column - 1]! + (same ? 0 : 1),
      );
      const swapped =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, before[column - 2]! + 1);
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length]!;
}
