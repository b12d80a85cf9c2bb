/** "Did you mean": the known word nearest to a mistyped one. */

/** Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1;
      let best = Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (previous[column - 1] ?? 0) + cost);
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        best = Math.min(best, (before[column - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** The nearest candidate, if it is near enough to be meant: a third of the letters wrong at most, or one is part of the other. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = normalise(word);
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const known = normalise(candidate);
    const limit = Math.max(1, Math.floor(Math.max(wanted.length, known.length) / 3));
    const contained = wanted.length >= 4 && (known.includes(wanted) || wanted.includes(known)) && known.length >= 4;
    const distance = editDistance(wanted, known);
    const score = distance <= limit ? distance : contained ? limit + 1 : Infinity;
    if (score < bestDistance) [best, bestDistance] = [candidate, score];
  }
  return best;
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : ` Did you mean "${found}"?`;
}

function normalise(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ .]/g, '');
}
