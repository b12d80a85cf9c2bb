import { describe, expect, it } from 'vitest';
import { knownBugs } from './bugs.ts';
import { simulate } from './simulate.ts';

const mostSeeds = 1000;
const seeds = Array.from({ length: mostSeeds }, (_, i) => i + 1);

it('a run is the same to every event when its seed is played again', async () => {
  for (const seed of [3, 11]) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    expect(second).toEqual(first);
  }
});

describe('errors known from the field, made on purpose', { timeout: 600_000 }, () => {
  it.each(knownBugs)('$name ($knownFrom) shows', async (bug) => {
    for (const seed of [bug.seed, ...seeds]) {
      const { violations } = await simulate(seed, { bug });
      if (violations.length > 0) return;
    }
    expect.fail(`not within ${mostSeeds} seeds`);
  });
});
