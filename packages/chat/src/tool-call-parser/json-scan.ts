/** Scans JSON in a text that may contain anything after the value, or may still grow. */
import { skipSpace } from './json-span.js';

export interface JsonScan {
  /**
   * `ended` if the value is complete; `cut` if the text ends inside the value, but is valid so far.
   */
  readonly kind: 'ended' | 'cut' | 'invalid';
  /** Index after the value, or of the first character that cannot belong to the value. */
  readonly at: number;
  /** Start indices of the objects and lists that are still open at index `at`. */
  readonly open: readonly number[];
}

type Expected = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end';

/**
 * Scans the value that begins at `start`. The time depends only on the length of the value, not on
 * its nesting.
 */
export function scanJson(text: string, start: number): JsonScan {
  const open: number[] = [];
  let expected: Expected = 'value';
  let at = start;
  for (;;) {
    at = skipSpace(text, at);
    const character = text[at];
    if (character === undefined) return { kind: 'cut', at, open };
    const isList = text[open.at(-1) ?? -1] === '[';
    if (expected.endsWith('end') && character === (isList ? ']' : '}')) {
      open.pop();
      at++;
    } else if (expected === 'comma or end' || expected === 'colon') {
      if (character !== (expected === 'colon' ? ':' : ',')) return { kind: 'invalid', at, open };
      expected = expected === 'colon' || isList ? 'value' : 'key';
      at++;
      continue;
    } else if (expected.startsWith('value') && (character === '{' || character === '[')) {
      open.push(at++);
      expected = character === '{' ? 'key or end' : 'value or end';
      continue;
    } else {
      const isKey = expected.startsWith('key');
      const end = isKey && character !== '"' ? -1 : scalarEnd(text, at);
      if (end < 0) return { kind: 'invalid', at, open };
      if (end > text.length) return { kind: 'cut', at: text.length, open };
      at = end;
      if (isKey) {
        expected = 'colon';
        continue;
      }
    }
    if (open.length === 0) return { kind: 'ended', at, open };
    expected = 'comma or end';
  }
}

/**
 * Returns the index after the JSON string, number or literal that begins at `at`. The index is
 * greater than `text.length` if the text ends within it, and -1 if it is invalid.
 */
function scalarEnd(text: string, at: number): number {
  if (text[at] === '"') return stringEnd(text, at);
  let end = at;
  while (/[-+.\w]/.test(text[end] ?? '')) end++;
  if (end === text.length) return end + 1;
  return /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)$/.test(
    text.slice(at, end),
  )
    ? end
    : -1;
}

function stringEnd(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) return i + 1;
    if (code < 0x20) return -1;
    if (code !== 0x5c) continue;
    const escape = text.slice(i + 1, i + 6);
    if (!/^(?:["\\/bfnrt]|u[\da-fA-F]{0,4}$)/.test(escape)) return escape === '' ? i + 2 : -1;
    i += escape.startsWith('u') ? 5 : 1;
  }
  return text.length + 1;
}
