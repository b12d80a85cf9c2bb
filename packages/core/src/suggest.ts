/** "Did you mean": the known word that is closest to a mistyped one. */
import leven from 'leven';

/**
 * The closest known word, if at most a third of the letters differ or one word contains the other.
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
    const distance = leven(wanted, other);
    const score = distance <= limit ? distance : contained ? limit + 1 : Infinity;
    if (score < bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const found = nearest(word, known);
  return found === undefined ? '' : ` Did you mean "${found}"?`;
}

const normalise = (word: string): string => word.toLowerCase().replaceAll(/[-_ .]/g, '');
