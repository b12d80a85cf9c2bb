import { expect, it } from 'vitest';
import { simulate } from './simulate.ts';

/**
 * Number of simulated seeds. All deliberate errors but one are detected within 133; `pnpm bench simulate` runs 1,000.
 */
const seeds = 150;

it(
  'explorers, trainer and store end as they have to, whatever happens to them',
  {
    tags: ['slow'],
  },
  async () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const { violations } = await simulate(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  },
);
