/** Parses the responses of judges. There may be other text around the numbers. */

/**
 * Returns the rating in a judge's response: n of the last `"rating": n`, which need not be in valid
 * JSON. Matches outside parentheses take precedence. If there is no match, n of the last `n/max` is
 * the rating. Returns undefined if there is neither, or if n is outside [min, max].
 */
export function parseRating(
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const found =
    lastRating(text.replaceAll(/\([^()]*\)/g, '')) ??
    lastRating(text) ??
    [
      ...text.matchAll(/(?<![\d.])(\d{1,9}(?:\.\d{1,9})?) {0,2}\/ {0,2}(\d{1,9})(?!\d|\.\d)/g),
    ].findLast(([, , of]) => Number(of) === max)?.[1];
  if (found === undefined) return undefined;
  const rating = Number(found);
  return rating >= min && rating <= max ? rating : undefined;
}

const lastRating = (text: string): string | undefined =>
  [
    ...text.matchAll(/\brating\b["'*]{0,3}[ \t]{0,4}[:=][ \t*"']{0,6}(-?\d{1,9}(?:\.\d{1,9})?)/gi),
  ].at(-1)?.[1];

/**
 * Returns the numbers between the last `[` and the last `]`, as a list of `count` scores. Ignores
 * quotes, spaces and one trailing comma. Returns undefined if the list has another length, or an
 * entry that is not a number from 0 to 1.
 */
export function parseScores(text: string, count: number): readonly number[] | undefined {
  const end = text.lastIndexOf(']');
  const begin = text.lastIndexOf('[', end);
  if (begin < 0 || end < 0) return undefined;
  const items = text.slice(begin + 1, end).split(',');
  if (items.at(-1)?.trim() === '') items.pop();
  if (items.length !== count) return undefined;
  const scores = items.map((item) => numberOf(item));
  return scores.every((score) => score !== undefined && score >= 0 && score <= 1)
    ? (scores as readonly number[])
    : undefined;
}

function numberOf(item: string): number | undefined {
  const text = item.trim().replaceAll(/^["']|["']$/g, '');
  return /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : undefined;
}
