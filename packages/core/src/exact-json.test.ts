import { isDeepStrictEqual } from 'node:util';
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

it('marks these members without a trace: objects compare and copy as before', () => {
  const rows = ['{"":9007199254740993,"b":1}', '{"a":9007199254740993,"b":9007199254740993}'];
  for (const text of rows) {
    const value = parseJsonExactly(text) as object;
    const same = JSON.parse(text.replaceAll('9007199254740993', '"9007199254740993"')) as object;
    expect(isDeepStrictEqual(value, same)).toBe(true);
    expect(Reflect.ownKeys({ ...value })).toEqual(Reflect.ownKeys(same));
    expect(stringifyExactly(value)).toBe(text);
    expect(stringifyExactly({ ...value })).toBe(JSON.stringify(same));
  }
  const list = `[${Array.from({ length: 100_000 }, (_, i) => 9007199254740993n + BigInt(i)).join()}]`;
  expect(stringifyExactly(parseJsonExactly(list)) === list).toBe(true);
});

it('reads everything else as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseJsonExactly(text, Number)).toEqual(JSON.parse(text));
    }),
  );
});
