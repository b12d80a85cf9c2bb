/** Keeps experiences whose reward reaches a threshold. */
import { numberArg } from '@trinity-rft/core';
import { rewardOf } from '../advantages/shared/groups.js';
import { definePart, type OperatorPart } from '../parts/part.js';

/**
 * Operator that keeps experiences whose reward reaches a threshold. Metrics: `filtered_count`.
 * @throws RewardError for an experience without a finite reward
 */
export const rewardFilter: OperatorPart = definePart({
  args: { threshold: numberArg(0, {}, 'Smallest reward that is kept.') },
  doc: {
    summary: 'Keeps experiences whose reward is at least a threshold.',
    formula: 'keep i where R_i >= threshold',
  },
  create:
    ({ threshold }) =>
    (experiences) => {
      const kept = experiences.filter((experience) => rewardOf(experience) >= threshold);
      return { experiences: kept, metrics: { filtered_count: experiences.length - kept.length } };
    },
});
