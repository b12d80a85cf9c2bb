import { expect, it } from 'vitest';
import { simulate } from './simulate.ts';

/** All but one of the errors made on purpose show within 250 seeds; `pnpm bench simulate` plays 1,000. */
const seeds = 300;

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
