/** Generalised advantage estimation with a critic. */
import { booleanArg, numberArg, type ArgValues, InvariantError } from '@trinity-rft/core';
import type { AdvantageInput, AdvantageOutput } from '@trinity-rft/core/internal';
import { checkAdvantageInput } from '../parts/check-input.js';
import { rowSpans } from '../parts/rows.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { returnMetrics, trainedMoments, whiten } from './shared/whiten.js';

const args = {
  gamma: numberArg(1, { min: 0, max: 1 }, 'Discount of later rewards, per token.'),
  lam: numberArg(
    1,
    { min: 0, max: 1 },
    'Between the one-step error of the critic (0) and the whole return (1).',
  ),
  skipMasked: booleanArg(
    false,
    'Leave tokens that are not trained out of the recursion: the value after a token is that of the next trained one, as agents with long tool outputs need.',
  ),
};

/**
 * Goes backwards over all tokens of a row, trained or not: delta_t = reward_t + gamma V_(t+1) -
 * V_t, where V after the last token is 0; g_t = delta_t + gamma lam g_(t+1). The returns are g + V.
 * The advantages are g, whitened over the trained tokens of the batch. If the batch has only one
 * trained token, its advantage is g. With `skipMasked`, the recursion covers only trained tokens,
 * and the reward of a masked token counts for the preceding trained token. The function is only
 * available in the trainer.
 *
 * Metric: `returns/mean` over trained tokens.
 */
export const ppo = defineAdvantagePart({
  args,
  doc: {
    summary: 'How much better each token did than a critic expected.',
    formula:
      'A_t = whiten(g)_t, g_t = R_t + gamma V_(t+1) - V_t + gamma lam g_(t+1); returns = g + V',
    source: {
      title: 'High-Dimensional Continuous Control Using Generalized Advantage Estimation',
      url: 'https://arxiv.org/abs/1506.02438',
    },
  },
  comparesRuns: false,
  create: (options) => ({
    batchAdvantage: (input) => estimate(input, options),
    needs: { valueHead: true },
  }),
});

function estimate(
  input: AdvantageInput,
  { gamma, lam, skipMasked }: ArgValues<typeof args>,
): AdvantageOutput {
  checkAdvantageInput(input, ['rewards', 'values']);
  const { offsets, actionMask, rewards, values } = input;
  if (!values)
    throw new InvariantError(
      'The advantage function "ppo" was given no values; the algorithm declares that it needs a critic.',
      { code: 'VALUES_MISSING' },
    );
  const advantages = new Float32Array(rewards.length);
  const returns = new Float32Array(rewards.length);
  for (const { start, end } of rowSpans(offsets)) {
    // After the last token of a row, value and advantage are 0.
    let [advantage, nextValue, reward] = [0, 0, 0];
    for (let t = end - 1; t >= start; t--) {
      reward += rewards[t]!;
      if (skipMasked && actionMask[t] === 0) continue;
      const delta = reward + gamma * nextValue - values[t]!;
      advantage = delta + gamma * lam * advantage;
      advantages[t] = advantage;
      returns[t] = advantage + values[t]!;
      nextValue = values[t]!;
      reward = 0;
    }
  }
  const metrics = { ...returnMetrics(trainedMoments(returns, actionMask)) };
  whiten(advantages, actionMask);
  return { advantages, returns, metrics };
}
