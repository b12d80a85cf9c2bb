/** Generalised advantage estimation with a critic. */
import {
  booleanArg,
  InvariantError,
  numberArg,
  type AdvantageInput,
  type AdvantageOutput,
  type ArgValues,
} from '@trinity-rft/core';
import { checkAdvantageInput } from '../parts/check-input.js';
import { eachRow } from '../parts/visit.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { returnMetrics, whiten } from './whiten.js';

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
 * Backwards over all tokens of a row, trained or not: delta_t = reward_t + gamma V_(t+1) - V_t with
 * V = 0 after the last, g_t = delta_t + gamma lam g_(t+1). returns = g + V; advantages = g whitened
 * over the trained tokens of the batch. Runs in the trainer alone. One trained token in the whole
 * batch keeps its g. With `skipMasked` rewards of masked tokens go to the trained token before.
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

type Options = ArgValues<typeof args>;

function estimate(input: AdvantageInput, options: Options): AdvantageOutput {
  checkAdvantageInput(input, ['rewards', 'values']);
  const { offsets, actionMask, rewards, values } = input;
  if (!values)
    throw new InvariantError(
      'The advantage function "ppo" was given no values; the algorithm declares that it needs a critic.',
      {
        code: 'VALUES_MISSING',
      },
    );
  const advantages = new Float32Array(rewards.length);
  const returns = new Float32Array(rewards.length);
  let returned = 0;
  eachRow(offsets, (start, end) => {
    const row = {
      rewards: rewards.subarray(start, end),
      values: values.subarray(start, end),
      actionMask: actionMask.subarray(start, end),
    };
    returned += estimateRow(
      row,
      options,
      advantages.subarray(start, end),
      returns.subarray(start, end),
    );
  });
  const { trained } = whiten(advantages, actionMask);
  return {
    advantages,
    returns,
    metrics: { ...returnMetrics({ trained, mean: returned / trained }) },
  };
}

type Row = Required<Pick<AdvantageInput, 'rewards' | 'values' | 'actionMask'>>;

/** Fills advantages and returns, and gives back the sum of the returns of trained tokens. */
function estimateRow(
  { rewards, values, actionMask }: Row,
  { gamma, lam, skipMasked }: Options,
  advantages: Float32Array,
  returns: Float32Array,
): number {
  const decay = gamma * lam;
  let next = 0;
  let nextValue = 0;
  let carried = 0;
  let returned = 0;
  for (let t = rewards.length - 1; t >= 0; t--) {
    carried += rewards[t]!;
    if (skipMasked && actionMask[t] === 0) continue;
    const value = values[t]!;
    next = carried + gamma * nextValue - value + decay * next;
    nextValue = value;
    carried = 0;
    advantages[t] = next;
    returns[t] = next + value;
    returned += actionMask[t]! * (next + value);
  }
  return returned;
}
