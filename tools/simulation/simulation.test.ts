import { describe, expect, it } from 'vitest';
import { knownBugs } from './bugs.ts';
import { simulate } from './simulate.ts';

describe('explorers, trainer and store under faults, by seed', () => {
  it('end as they have to, whatever happens to them', async () => {
    for (let seed = 1; seed <= 20; seed++) {
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
  const mostSeeds = 1000;

  it.each(knownBugs)('$name ($knownFrom) shows', async (bug) => {
    for (let seed = 1; seed <= mostSeeds; seed++) {
      const { violations } = await simulate(seed, { bug });
      if (violations.length > 0) return;
    }
    expect.fail(`not within ${mostSeeds} seeds`);
  });
});
