/** Keeps what was rewarded enough. */
import { numberArg } from '@trinity-rft/core';
import { rewardOf } from '../advantage/groups.js';
import { definePart } from '../part.js';
import type { OperatorPart } from './table.js';

/** Metrics: `filtered_count`. @throws RewardError for an experience without a finite reward */
export const rewardFilter: OperatorPart = definePart(
  { threshold: numberArg(0, {}, 'Smallest reward that is kept.') },
  ({ threshold }) =>
    (experiences) => {
      const kept = experiences.filter((experience) => rewardOf(experience) >= threshold);
      return { experiences: kept, metrics: { filtered_count: experiences.length - kept.length } };
    },
  {
    summary: 'Keeps experiences whose reward is at least a threshold.',
    formula: 'keep i where R_i >= threshold',
  },
);
