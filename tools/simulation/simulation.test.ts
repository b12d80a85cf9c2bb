import { describe, expect, it } from 'vitest';
import { knownBugs } from './bugs.ts';
import { simulate } from './simulate.ts';

/** Seed 24: a late copy of a lease that found no task takes one that was planned since. */
const seeds = [...Array.from({ length: 20 }, (_, i) => i + 1), 24];

describe('explorers, trainer and store under faults, by seed', () => {
  it('end as they have to, whatever happens to them', async () => {
    for (const seed of seeds) {
      const { violations } = await simulate(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  it('are the same to every event when a seed is played again', async () => {
    for (const seed of [3, 11]) {
      const [first, second] = [await simulate(seed), await simulate(seed)];
      expect(second).toEqual(first);
    }
  });
});

describe('errors known from the field, made on purpose', () => {
  const shown = knownBugs.filter(({ seed }) => seed !== undefined);

  it.each(shown)('$name ($knownFrom) shows', async (bug) => {
    const { violations } = await simulate(bug.seed ?? 0, { bug });
    expect(violations).not.toEqual([]);
  });
});
