/** REINFORCE++: discounted returns, whitened over the batch. */
import { numberArg, type BatchAdvantageFn } from '@trinity-rft/core';
import { checkAdvantageInput } from '../parts/check-input.js';
import { rowSpans } from '../parts/rows.js';
import { onExperiences } from './shared/on-experiences.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { returnMetrics, whiten } from './shared/whiten.js';

const args = { gamma: numberArg(1, { min: 0, max: 1 }, 'Discount of later rewards, per token.') };

/**
 * Computes returns_t = reward_t + gamma returns_(t+1) over all tokens of a row. The advantages are
 * the returns, whitened over the trained tokens of the batch, and 0 for masked tokens. Rollouts are
 * not grouped by task. If all returns are equal, advantages are 0. A single trained token keeps its
 * return.
 *
 * Metric: `returns/mean` over trained tokens.
 */
export const reinforcePlusPlus = defineAdvantagePart({
  args,
  doc: {
    summary:
      'Discounted returns, normalised over all trained tokens of the batch instead of per task.',
    formula: 'A_t = whiten(G)_t, G_t = R_t + gamma G_(t+1)',
    source: {
      title:
        'REINFORCE++: Stabilizing Critic-Free Policy Optimization with Global Advantage Normalization',
      url: 'https://arxiv.org/abs/2501.03262',
    },
  },
  comparesRuns: false,
  create: ({ gamma }) => {
    const compute: BatchAdvantageFn = (input) => {
      checkAdvantageInput(input, ['rewards']);
      const { offsets, actionMask, rewards } = input;
      const returns = new Float32Array(rewards.length);
      for (const { start, end } of rowSpans(offsets)) {
        let sum = 0;
        for (let t = end - 1; t >= start; t--) {
          sum = rewards[t]! + gamma * sum;
          returns[t] = sum;
        }
      }
      const advantages = returns.slice();
      const returned = whiten(advantages, actionMask, 'zero');
      return { advantages, returns, metrics: { ...returnMetrics(returned) } };
    };
    return { advantage: onExperiences(compute, { logprobs: false }), batchAdvantage: compute };
  },
});
