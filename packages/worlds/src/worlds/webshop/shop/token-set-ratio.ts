/** Similarity of two texts regardless of word order: `token_set_ratio` of thefuzz 0.22. */

/**
 * Returns the similarity from 0 to 100, rounded. It is 100 if one text contains all words of the
 * other.
 */
export function tokenSetRatio(a: string, b: string): number {
  const [first, second] = [wordsOf(a), wordsOf(b)];
  if (first.size === 0 || second.size === 0) return 0;
  const common = [...first].filter((word) => second.has(word));
  const onlyFirst = [...first].filter((word) => !second.has(word)).join(' ');
  const onlySecond = [...second].filter((word) => !first.has(word)).join(' ');
  if (common.length > 0 && (onlyFirst === '' || onlySecond === '')) return 100;
  const shared = common.join(' ').length;
  const gap = shared === 0 ? 0 : 1;
  const [long, short] = [shared + gap + onlyFirst.length, shared + gap + onlySecond.length];
  const ratios = [ratio(editDistance(onlyFirst, onlySecond), long + short)];
  if (shared > 0)
    ratios.push(
      ratio(gap + onlyFirst.length, shared + long),
      ratio(gap + onlySecond.length, shared + short),
    );
  return roundHalfEven(Math.max(...ratios));
}

/** Returns the sorted unique words, without the characters that thefuzz drops. */
const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .replace(/[\x80-\xff]/g, '')
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter((word) => word !== '')
      .toSorted(),
  );

const ratio = (distance: number, length: number): number => 100 - (100 * distance) / length;

/**
 * Returns the number of insertions and deletions that turn `a` into `b`: the sum of the lengths
 * minus twice the length of the longest common subsequence.
 */
function editDistance(a: string, b: string): number {
  let previous = new Uint16Array(b.length + 1);
  for (const letter of a) {
    const row = new Uint16Array(b.length + 1);
    for (let j = 1; j <= b.length; j++)
      row[j] =
        letter === b[j - 1]
          ? (previous[j - 1] ?? 0) + 1
          : Math.max(previous[j] ?? 0, row[j - 1] ?? 0);
    previous = row;
  }
  return a.length + b.length - 2 * (previous[b.length] ?? 0);
}

/** Rounds halves to even, like Python's `round`. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
