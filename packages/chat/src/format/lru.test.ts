import { expect, it } from 'vitest';
import { createLru } from './lru.js';

it('makes a value once, and again after it was forgotten for newer ones', () => {
  const lru = createLru<number>(2);
  let made = 0;
  const get = (key: string): number => lru.get(key, () => ++made);
  expect([get('a'), get('b'), get('a'), get('c'), get('a'), get('b')]).toEqual([1, 2, 1, 3, 1, 4]);
});

it('does not keep values of long keys', () => {
  const lru = createLru<number>(2, 3);
  let made = 0;
  expect([lru.get('long', () => ++made), lru.get('long', () => ++made)]).toEqual([1, 2]);
});
