/** Files of golden vectors, and comparisons with the stated tolerance. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';

export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`vectors/${name}.json`, import.meta.url), 'utf8')) as T;
}

export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
): void {
  expect(actual.length).toBe(expected.length);
  const bad = Array.from(expected).findIndex(
    (value, i) => !(Math.abs(actual[i]! - value) <= tolerance * Math.max(1, Math.abs(value))),
  );
  expect(bad < 0 ? 'close' : `entry ${bad}: ${actual[bad]} instead of ${expected[bad]}`).toBe(
    'close',
  );
}

export function expectMetrics(
  actual: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number>>,
  tolerance: number,
): void {
  const names = Object.keys(expected);
  expect(Object.keys(actual)).toEqual(expect.arrayContaining(names));
  expectClose(
    names.map((name) => actual[name]!),
    names.map((name) => expected[name]!),
    tolerance,
  );
}
