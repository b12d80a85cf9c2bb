import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJsonExactly, stringifyExactly, withNumbersOf } from './exact-json.js';

it('keeps the digits of whole numbers that JavaScript cannot hold, at any depth', () => {
  const text =
    '{"id": 9007199254740993, "list": [-9007199254740992, 12], "f": 1e20, "d": 0.12345678901234567890, "s": "9007199254740993"}';
  expect(parseJsonExactly(text)).toEqual({
    id: '9007199254740993',
    list: ['-9007199254740992', 12],
    f: 1e20,
    d: 0.12345678901234568,
    s: '9007199254740993',
  });
  expect(parseJsonExactly('9007199254740993', (digits) => ({ digits }))).toEqual({
    digits: '9007199254740993',
  });
});

it('writes these digits as the numbers that they were', () => {
  const text = '{"id":9007199254740993,"list":[-9007199254740992,12],"s":"9007199254740993"}';
  const value = parseJsonExactly(text) as Readonly<Record<string, unknown>>;
  expect(stringifyExactly(value)).toBe(text);
  expect(stringifyExactly({ value })).toBe(`{"value":${text}}`);
  expect(stringifyExactly({ id: value['id'] })).toBe('{"id":"9007199254740993"}');
  expect(stringifyExactly(withNumbersOf(value, { ...value, id: '[card]' }))).toBe(
    text.replace('9007199254740993', '"[card]"'),
  );
});

it('reads everything else as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseJsonExactly(text, Number)).toEqual(JSON.parse(text));
    }),
  );
});
