/** REINFORCE++: discounted returns, whitened over the batch. */
import { numberArg, type AdvantageInput, type AdvantageOutput } from '@trinity-rft/core';
import { checkAdvantageInput } from '../parts/check-input.js';
import { eachRow } from '../parts/visit.js';
import { onExperiences } from './on-experiences.js';
import { fresh, type Take } from './pack-rows.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { returnMetrics, whiten } from './whiten.js';

const args = { gamma: numberArg(1, { min: 0, max: 1 }, 'Discount of later rewards, per token.') };

/**
 * returns_t = reward_t + gamma returns_(t+1) over all tokens of a row; advantages = returns
 * whitened over the trained tokens of the batch, 0 on others. Groups do not matter: equal rewards
 * everywhere give 0, one trained token keeps its return.
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
    const compute = (input: AdvantageInput, take: Take = fresh): AdvantageOutput => {
      checkAdvantageInput(input, ['rewards']);
      const { offsets, actionMask, rewards } = input;
      const returns = take('returns', rewards.length);
      eachRow(offsets, (start, end) =>
        discount(rewards.subarray(start, end), gamma, returns.subarray(start, end)),
      );
      const advantages = take('advantages', rewards.length);
      advantages.set(returns);
      const returned = whiten(advantages, actionMask, 'zero');
      return { advantages, returns, metrics: { ...returnMetrics(returned) } };
    };
    return { advantage: onExperiences(compute, { logprobs: false }), batchAdvantage: compute };
  },
});

function discount(rewards: Float32Array, gamma: number, returns: Float32Array): void {
  let sum = 0;
  for (let t = rewards.length - 1; t >= 0; t--) {
    sum = rewards[t]! + gamma * sum;
    returns[t] = sum;
  }
}
