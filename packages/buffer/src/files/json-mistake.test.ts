import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findJsonMistake } from './json-mistake.js';

it.each([
  ['{"a": 1, "b" 2}', 13, 'expected a colon after the key, found "2"'],
  ['{"a": 1 "b": 2}', 8, 'expected a comma, found "b"'],
  ['{"a": NaN}', 6, 'expected a JSON value or a key in double quotes, found "NaN"'],
  ['{"a": -Infinity}', 6, 'expected a JSON value or a key in double quotes, found "-"'],
  ["{'a': 1}", 1, `expected a JSON value or a key in double quotes, found "'a'"`],
  ['{"a": 1,}', 8, 'expected a key in double quotes, found "}"'],
  ['[1, 2', 5, 'expected a comma or "]", found the end of the text'],
  ['{"a": "open', 6, 'expected a closing double quote, found "open'],
  [
    '{"a": "tab\there"}',
    6,
    String.raw`expected control characters as escapes, found "\"tab\there\""`,
  ],
  [String.raw`{"a": "\x41"}`, 6, String.raw`expected an escape that JSON knows, found "\"\\x41\""`],
  ['{"a": 01}', 7, 'expected a comma, found "1"'],
  ['{"a": 1} {"b": 2}', 9, 'expected nothing after the value, found "{"'],
  ['', 0, 'expected a value, found the end of the text'],
  ['{"a": 😀}', 6, 'expected a JSON value or a key in double quotes, found "😀"'],
])('finds the mistake in %j', (text, offset, problem) => {
  expect(findJsonMistake(text)).toEqual({ offset, problem });
});

it('agrees with JSON.parse on what is JSON, for texts with one character changed', () => {
  const change = fc.record({
    at: fc.nat(),
    by: fc.constantFrom(
      '',
      '"',
      ',',
      ':',
      '{',
      '}',
      '[',
      ']',
      '\\',
      '0',
      'e',
      '-',
      '.',
      ' ',
      '\n',
      'x',
    ),
  });
  fc.assert(
    fc.property(fc.json(), change, (json, { at, by }) => {
      const place = at % (json.length + 1);
      const text = json.slice(0, place) + by + json.slice(place + 1);
      expect(findJsonMistake(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: 2_000 },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
