/**
 * Finds the start and end of JSON values in a text, so that the values can be kept exactly as the
 * model wrote them.
 */
import { stringEnd } from '@trinity-rft/core/support';

/** Range of a text: from `start` up to but not including `end`. */
export type Span = readonly [start: number, end: number];

/** Returns the first index from `at` on that is not JSON white space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  while (text[i] === ' ' || text[i] === '\n' || text[i] === '\r' || text[i] === '\t') i++;
  return i;
}

/**
 * Returns the index after the value that begins at `at`, or -1 if the value does not end. Only
 * considers brackets and strings, so the value may still be invalid.
 */
function valueEnd(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return stringEnd(text, at);
  if (first !== '{' && first !== '[') return scalarEnd(text, at);
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const character = text[i];
    if (character === '"') {
      const end = stringEnd(text, i);
      if (end < 0) return -1;
      i = end - 1;
    } else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return i + 1;
  }
  return -1;
}

/**
 * Returns the ranges of the values of the JSON object that begins at `at`, by key. The object must
 * be valid. For a repeated key, the last value counts, as in `JSON.parse`.
 */
export function memberSpans(text: string, at: number): ReadonlyMap<string, Span> {
  const spans = new Map<string, Span>();
  for (let i = skipSpace(text, at + 1); text[i] === '"';) {
    const keyEnd = stringEnd(text, i);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    spans.set(JSON.parse(text.slice(i, keyEnd)) as string, [start, end]);
    i = skipSpace(text, end);
    if (text[i] === ',') i = skipSpace(text, i + 1);
  }
  return spans;
}

/** Returns the ranges of the items of the JSON list that begins at `at`. The list must be valid. */
export function itemSpans(text: string, at: number): readonly Span[] {
  const spans: Span[] = [];
  let i = skipSpace(text, at + 1);
  while (i < text.length && text[i] !== ']') {
    const end = valueEnd(text, i);
    if (end < 0) break;
    spans.push([i, end]);
    i = skipSpace(text, end);
    if (text[i] === ',') i = skipSpace(text, i + 1);
  }
  return spans;
}

function scalarEnd(text: string, at: number): number {
  let i = at;
  while (i < text.length && !',]} \n\r\t'.includes(text[i]!)) i++;
  return i > at ? i : -1;
}
