/**
 * Excludes truncated responses from the loss. Their rewards still count in the comparison of their
 * group.
 */
import { withFields } from '@trinity-rft/core';
import { definePart, type OperatorPart } from '../parts/part.js';

/** Operator that masks truncated responses. Metrics: `masked_truncated_count`. */
export const maskResponseTruncated: OperatorPart = definePart({
  args: {},
  doc: {
    summary:
      'Does not train on responses that were cut at the length limit; their rewards still count in their groups.',
    formula: 'm_t = 0 for all t of a truncated response',
    source: {
      title: 'DAPO: An Open-Source LLM Reinforcement Learning System at Scale, section 3.4',
      url: 'https://arxiv.org/abs/2503.14476',
    },
  },
  create: () => (experiences) => {
    let masked = 0;
    const out = experiences.map((experience) => {
      if (experience.truncateStatus !== 'response_truncated') return experience;
      masked++;
      return withFields(experience, { actionMask: new Uint8Array(experience.actionMask.length) });
    });
    return { experiences: out, metrics: { masked_truncated_count: masked } };
  },
});
