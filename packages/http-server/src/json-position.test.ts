import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonErrorPosition } from './json-position.js';

function positionOf(text: string): string {
  try {
    JSON.parse(text);
    return 'valid';
  } catch {
    return jsonErrorPosition(text);
  }
}

it.each([
  ['', ' (line 1, column 1)'],
  ['{"a": x}', ' (line 1, column 7)'],
  ['{\n  "a": 1,\n  b: 2\n}', ' (line 3, column 3)'],
  ['[1,]', ' (line 1, column 4)'],
  ['{"a":1e}', ' (line 1, column 6)'],
  ['[1, 2', ' (line 1, column 6)'],
  ['{"a":1}}', ' (line 1, column 8)'],
])('finds where %j stops being JSON', (text, expected) => {
  expect(positionOf(text)).toBe(expected);
});

it.each([`[x${' '.repeat(100_000)}]`, '['.repeat(50_000)])(
  'finds nothing in a text that is too long or nested too deep',
  (text) => {
    expect(positionOf(text)).toBe('');
  },
);

it('points at the token into which a letter was put', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(), (value, at) => {
      const text = JSON.stringify([value]);
      const outside = Array.from(text, (_, i) => i).filter(
        (i) => i > 0 && /[[\]{},:]/.test(text[i]!) && !inString(text, i),
      );
      const i = outside[at % outside.length]!;
      const word = /(?:true|false|null)?$/.exec(text.slice(0, i))?.[0] ?? '';
      expect(positionOf(`${text.slice(0, i)}x${text.slice(i)}`)).toBe(
        ` (line 1, column ${i + 1 - word.length})`,
      );
    }),
  );
});

const inString = (text: string, at: number): boolean =>
  (text.slice(0, at).replace(/\\./g, '').match(/"/g)?.length ?? 0) % 2 === 1;
