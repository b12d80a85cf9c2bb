/** Describes where two values differ, in text for users. */

const mostShown = 3;
const longestValue = 60;

/**
 * Describes the first paths at which two values differ, such as `reward is 1 and 0; isDone is true
 * and false`.
 */
export function describeDifferences(a: unknown, b: unknown): string {
  const all = [...differences(a, b, '')];
  const shown = all
    .slice(0, mostShown)
    .map(({ path, left, right }) => `${path} is ${shortened(left, right)}`);
  const more = all.length - shown.length;
  return `${shown.join('; ')}${more > 0 ? `; and ${more} more differ` : ''}`;
}

interface Difference {
  readonly path: string;
  readonly left: string;
  readonly right: string;
}

function* differences(a: unknown, b: unknown, path: string): Generator<Difference> {
  if (isNested(a) && isNested(b) && Array.isArray(a) === Array.isArray(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
      yield* differences(a[key], b[key], pathTo(path, key, Array.isArray(a)));
    return;
  }
  const [left, right] = [textOf(a), textOf(b)];
  if (!Object.is(a, b)) yield { path: path || 'the whole', left, right };
}

const isNested = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function pathTo(path: string, key: string, isArray: boolean): string {
  if (isArray) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

const textOf = (value: unknown): string =>
  value === undefined ? 'not there' : (JSON.stringify(value) ?? typeof value);

/**
 * Truncates two long strings to the same range, which begins shortly before their first difference.
 */
function shortened(left: string, right: string): string {
  if (Math.max(left.length, right.length) <= longestValue) return `${left} and ${right}`;
  let at = 0;
  while (at < left.length && left[at] === right[at]) at++;
  const from = Math.max(0, at - longestValue / 3);
  const cut = (text: string): string => {
    const piece = text.slice(from, from + longestValue);
    return `${from > 0 ? '…' : ''}${piece}${from + longestValue < text.length ? '…' : ''}`;
  };
  return `${cut(left)} and ${cut(right)}`;
}
