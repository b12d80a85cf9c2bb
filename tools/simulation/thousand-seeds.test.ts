import { expect, it } from 'vitest';
import { simulate } from './simulate.ts';

it(
  'explorers, trainer and store end as they have to, whatever happens to them',
  {
    tags: ['slow'],
  },
  async () => {
    for (let seed = 1; seed <= 1000; seed++) {
      const { violations } = await simulate(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  },
);
