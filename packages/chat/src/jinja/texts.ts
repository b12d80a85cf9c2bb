/** Implements Python's string functions that are used by methods and filters. */
import { typeName, type Value } from './values.js';

const pythonSpace =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const isSpace = new RegExp(`[${pythonSpace}]`);
const words = new RegExp(`[^${pythonSpace}]+`, 'g');
const afterLineBreak = /(?<=\r\n|\r(?!\n)|[\n\v\f\x1c-\x1e\x85\u2028\u2029])/;
const lineBreak = /(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])$/;

type Side = 'both' | 'left' | 'right';

/**
 * Removes the characters for which `isOuter` is true from one or both ends of the string. A pattern
 * such as `\s+$` would take quadratic time for a long run of white space inside the string.
 */
function trimmed(text: string, isOuter: (character: string) => boolean, side: Side): string {
  let [from, to] = [0, text.length];
  while (side !== 'right' && from < to && isOuter(text.charAt(from))) from++;
  while (side !== 'left' && to > from && isOuter(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}

export const trimLineBreaks = (text: string, side: Side = 'both'): string =>
  trimmed(text, (character) => character === '\n', side);

/**
 * Implements Python's `strip`, `lstrip` and `rstrip`. Without `characters`, they remove white
 * space.
 */
export function strip(text: string, side: Side = 'both', characters?: string): string {
  if (characters === undefined) return trimmed(text, (character) => isSpace.test(character), side);
  const letters = Array.from(text);
  const set = new Set(characters);
  let [from, to] = [0, letters.length];
  while (side !== 'right' && from < to && set.has(letters[from] ?? '')) from++;
  while (side !== 'left' && to > from && set.has(letters[to - 1] ?? '')) to--;
  return letters.slice(from, to).join('');
}

/** Implements Python's `splitlines`. */
export function splitLines(text: string, keepEnds = false): readonly string[] {
  const lines = text === '' ? [] : text.split(afterLineBreak);
  return keepEnds ? lines : lines.map((line) => line.replace(lineBreak, ''));
}

export const capitalize = (text: string): string => {
  const [first = '', ...rest] = Array.from(text);
  return first.toUpperCase() + rest.join('').toLowerCase();
};

/** Replaces at most `count` occurrences, or all if `count` is negative. */
export function replace(text: string, from: string, to: string, count = -1): string {
  if (count < 0 && from !== '') return text.replaceAll(from, () => to);
  const parts = from === '' ? ['', ...Array.from(text), ''] : text.split(from);
  if (count < 0) return parts.join(to);
  const head = parts.slice(0, count + 1).join(to);
  const tail = parts.slice(count + 1);
  return tail.length === 0 ? head : [head, ...tail].join(from);
}

export function split(text: string, separator: Value, limit: number): readonly string[] {
  if (separator === null || separator === undefined) return splitSpaces(text, limit, 'left');
  const parts = text.split(nonEmpty(separator));
  if (limit < 0 || parts.length <= limit + 1) return parts;
  return [...parts.slice(0, limit), parts.slice(limit).join(nonEmpty(separator))];
}

/**
 * Splits a string at runs of white space, at most `limit` times from the given side. As in Python,
 * the part that is not split any further keeps the white space at its outer end.
 */
function splitSpaces(text: string, limit: number, side: 'left' | 'right'): readonly string[] {
  const found = [...text.matchAll(words)];
  const all = found.map(([word]) => word);
  const others = found.length - limit;
  if (limit < 0 || others <= 0) return all;
  if (side === 'left') return [...all.slice(0, limit), text.slice(found[limit]?.index)];
  const { 0: word = '', index = 0 } = found[others - 1] ?? {};
  return [text.slice(0, index + word.length), ...all.slice(others)];
}

export function splitRight(text: string, separator: Value, limit: number): readonly string[] {
  if (separator === null || separator === undefined) return splitSpaces(text, limit, 'right');
  const { length } = nonEmpty(separator);
  const parts: string[] = [];
  let end = text.length;
  while (end >= length && parts.length !== limit) {
    const at = text.lastIndexOf(nonEmpty(separator), end - length);
    if (at < 0) break;
    parts.push(text.slice(at + length, end));
    end = at;
  }
  return [text.slice(0, end), ...parts.toReversed()];
}

export function asText(value: Value): string {
  if (typeof value === 'string') return value;
  throw new Error(`expected str, got ${typeName(value)}`);
}

export function nonEmpty(value: Value): string {
  const text = asText(value);
  if (text === '') throw new Error('the separator is empty');
  return text;
}
