import { describe, expect, it } from 'vitest';
import { repeatedKey } from './repeated-key.js';

describe('a key that occurs twice', () => {
  it.each([
    ['{"a": 1, "b": 2}', undefined],
    ['{"a": 1, "a": 2}', 'a'],
    ['{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}', undefined],
    ['{"a": {"b": 1, "c": [], "b" : 2}}', 'b'],
    [String.raw`{"a\"}{": "\"a\":", "x": "a"}`, undefined],
    [String.raw`{"a": "\\", "b": {"a": "\\\""}, "a": 1}`, 'a'],
    [String.raw`{"a": 1, "\u0061": 2}`, 'a'],
    ['["a", "a"]', undefined],
  ])('%s: %s', (json, key) => {
    expect(repeatedKey(json)?.key).toBe(key);
    JSON.parse(json);
  });

  it('is found behind a long text, with its place', () => {
    const long = JSON.stringify('"\\{ '.repeat(4_000_000));
    const json = `{"a": ${long}, "a": 1}`;
    expect(repeatedKey(json)).toEqual({ key: 'a', offset: json.length - 7 });
  });
});
