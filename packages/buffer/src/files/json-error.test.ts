import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findJsonMistake } from './json-error.js';

it.each([
  ['{"a": 1, "b" 2}', 13, 'expected a colon after the key, found "2"'],
  ['{"a": 1 "b": 2}', 8, String.raw`expected a comma or "}", found "\""`],
  ['{"a": NaN}', 6, 'expected a value, found "NaN"'],
  ['{"a": -Infinity}', 6, 'expected a value, found "-Infinity"'],
  ["{'a': 1}", 1, `expected a key in double quotes, found "'"`],
  ['{"a": 1,}', 8, 'expected a key in double quotes, found "}"'],
  ['[1, 2', 5, 'expected a comma or "]", found the end of the text'],
  ['{"a": "open', 11, 'expected a closing double quote, found the end of the text'],
  ['{"a": "tab\there"}', 10, String.raw`expected a closing double quote, found "\t"`],
  [String.raw`{"a": "\x41"}`, 7, String.raw`expected an escape that JSON knows, found "\\"`],
  ['{"a": 01}', 6, 'expected a value, found "01"'],
  ['{"a": 1} {"b": 2}', 9, 'expected nothing after the value, found "{"'],
  ['', 0, 'expected a value, found the end of the text'],
  ['{"a": 😀}', 6, 'expected a value, found "😀"'],
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
