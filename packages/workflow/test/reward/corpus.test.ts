/** Verdicts of the checker, case by case. */
import { describe, expect, it } from 'vitest';
import { sameMath } from '../../src/reward/index.js';
import { different, same } from './corpus.js';

const rows = (table: typeof same) =>
  Object.entries(table).flatMap(([topic, pairs]) => pairs.map(([a, b]) => ({ topic, a, b })));

describe('answers that mean the same', () => {
  it.each(rows(same))('$topic: $a is $b', ({ a, b }) => {
    expect([sameMath(a, b), sameMath(b, a)]).toEqual([true, true]);
  });
});

describe('answers that differ', () => {
  it.each(rows(different))('$topic: $a is not $b', ({ a, b }) => {
    expect([sameMath(a, b), sameMath(b, a)]).toEqual([false, false]);
  });
});
