/** Drops experiences without a valid reward. */
import { definePart, type OperatorPart } from '../parts/part.js';

/** Operator that drops experiences without a valid reward. Metrics: `filtered_count`. */
export const invalidRewardFilter: OperatorPart = definePart({
  args: {},
  doc: {
    summary: 'Drops experiences without a reward, or with one that is no finite number.',
    formula: 'keep i where R_i is finite',
  },
  create: () => (experiences) => {
    const kept = experiences.filter(
      ({ reward }) => reward !== undefined && Number.isFinite(reward),
    );
    return { experiences: kept, metrics: { filtered_count: experiences.length - kept.length } };
  },
});
