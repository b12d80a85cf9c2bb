/** Parses English number words, as Trinity-RFT does with the package word2number. */

const ones =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen';
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety';

const values: ReadonlyMap<string, number> = new Map([
  ...ones.split(' ').map((word, value) => [word, value] as const),
  ...tens.split(' ').map((word, index) => [word, 20 + 10 * index] as const),
]);
const scales: ReadonlyMap<string, number> = new Map([
  ['billion', 1e9],
  ['million', 1e6],
  ['thousand', 1e3],
]);

/**
 * Returns the number that the number words of a text form. Ignores other words ("about twenty two
 * apples" is 22). Returns undefined if there are no number words, or if a scale word is repeated or
 * follows a smaller scale word. A text of digits is returned without leading zeros.
 */
export function wordNumber(text: string): string | undefined {
  if (/^\d+$/.test(text)) return BigInt(text).toString();
  const words = text.toLowerCase().replaceAll('-', ' ').split(/\s+/);
  const known = words.filter(
    (word) => values.has(word) || scales.has(word) || word === 'hundred' || word === 'point',
  );
  if (known.length === 0) return undefined;
  const point = known.indexOf('point');
  const whole = wholeOf(point < 0 ? known : known.slice(0, point));
  if (whole === undefined || point < 0) return whole?.toString();
  const digits = known.slice(point + 1).map((word) => values.get(word) ?? 10);
  return digits.some((digit) => digit > 9)
    ? undefined
    : [whole, ...(digits.length > 0 ? [digits.join('')] : [])].join('.');
}

function wholeOf(words: readonly string[]): number | undefined {
  let total = 0;
  let group = 0;
  let smallest = Infinity;
  for (const word of words) {
    const scale = scales.get(word);
    if (scale === undefined) {
      group = word === 'hundred' ? Math.max(1, group) * 100 : group + (values.get(word) ?? 0);
      continue;
    }
    if (scale >= smallest) return undefined;
    smallest = scale;
    total += Math.max(1, group) * scale;
    group = 0;
  }
  return total + group;
}
