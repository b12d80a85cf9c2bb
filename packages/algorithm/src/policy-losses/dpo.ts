/**
 * Direct preference optimisation: learns from pairs of a chosen and a rejected response, without
 * rewards.
 */
import { choiceArg, numberArg, type LossInput, InvariantError } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';
import { eachTrainedToken } from '../parts/rows.js';

const args = {
  beta: numberArg(
    0.1,
    { above: 0 },
    'How strongly the policy is held to the reference: the larger, the closer it stays.',
  ),
  labelSmoothing: numberArg(
    0,
    { min: 0, max: 0.5 },
    'Share of pairs whose preference is assumed to be the wrong way round.',
  ),
  pairing: choiceArg(
    ['batch', 'each'],
    'batch',
    'each: the mean loss of all pairs. batch: one pair made of all even and all odd rows, which is right for a single pair.',
  ),
};

/**
 * Computes the loss of pairs. Even rows are chosen responses, and the odd row after each is the
 * rejected response. x is the log-probability of a token under the current weights, and f under the
 * reference. C is the sum of x - f over the trained tokens of the chosen response, and J the same
 * sum for the rejected response. With z = beta (C - J) and e = `labelSmoothing`: l = -(1 - e) log
 * sigmoid(z) - e log sigmoid(-z), dl/dz = sigmoid(z) - (1 - e), dz/dx = beta for tokens of chosen
 * responses, -beta for others.
 *
 * With `pairing` `each`, the loss is the mean over pairs; with `batch`, as in Trinity-RFT, C and J
 * are sums over the whole batch. Aggregation modes have no effect. Reports the metrics `dpo_loss`,
 * `chosen_reward` (mean of beta C), `rejected_reward`, `accuracy_mean` (share with C > J).
 * @see arXiv:2305.18290, eq. 7; label smoothing: https://ericmitchell.ai/cdpo.pdf
 */
export const dpo = definePolicyLoss({
  args,
  needs: { referenceLogprobs: true, pairs: true },
  doc: {
    summary: 'Direct preference optimisation from pairs of a chosen and a rejected answer.',
    formula:
      'z = beta (sum_chosen(x - f) - sum_rejected(x - f)); l = -(1 - e) log sigmoid(z) - e log sigmoid(-z)',
    source: {
      title: 'Direct Preference Optimization: Your Language Model is Secretly a Reward Model',
      url: 'https://arxiv.org/abs/2305.18290',
    },
  },
  batch: (input, { beta, labelSmoothing: e, pairing }) => {
    const margins = rowMargins(input);
    const pairs = pairing === 'batch' ? Math.min(margins.length, 1) : pairsOf(margins.length);
    const pairOf = (row: number): number => (pairing === 'batch' ? 0 : row >> 1);
    const [chosen, rejected] = [new Float64Array(pairs), new Float64Array(pairs)];
    for (const [row, margin] of margins.entries())
      (row % 2 === 0 ? chosen : rejected)[pairOf(row)]! += beta * margin;

    const z = chosen.map((reward, pair) => reward - rejected[pair]!);
    const losses = z.map((value) => (1 - e) * softplus(-value) + e * softplus(value));
    // dl/dx for tokens of chosen answers. Tokens of rejected answers have the opposite sign.
    const slopes = z.map((value) => (beta * (sigmoid(value) - (1 - e))) / pairs);
    const loss = average(losses);
    const gradLogprobs = new Float32Array(input.actionMask.length);
    eachTrainedToken(input, (t, row) => {
      gradLogprobs[t] = row % 2 === 0 ? slopes[pairOf(row)]! : -slopes[pairOf(row)]!;
    });
    return {
      loss,
      gradLogprobs,
      metrics: {
        dpo_loss: loss,
        chosen_reward: average(chosen),
        rejected_reward: average(rejected),
        accuracy_mean: average(z.map((value) => Number(value > 0))),
      },
    };
  },
});

/** Returns the mean, or 0 for a batch without pairs. */
const average = (values: Float64Array): number =>
  values.reduce((sum, value) => sum + value / values.length, 0);

function pairsOf(rows: number): number {
  if (rows % 2 === 0) return rows / 2;
  throw new InvariantError(
    `The policy loss "dpo" was given ${rows} rows; expected pairs, a chosen row and the rejected one after it.`,
    { code: 'PAIRS_INCOMPLETE' },
  );
}

/** Returns the sum of x - f over the trained tokens of each row. [B] */
function rowMargins(input: LossInput): Float64Array {
  const { offsets, currentLogprobs, refLogprobs } = input;
  if (!refLogprobs)
    throw new InvariantError(
      'The policy loss "dpo" was given no log-probabilities of the reference; it declares that it needs them.',
      { code: 'REFERENCE_MISSING' },
    );
  const margins = new Float64Array(offsets.length - 1);
  eachTrainedToken(input, (t, row) => {
    margins[row]! += currentLogprobs[t]! - refLogprobs[t]!;
  });
  return margins;
}

/** Returns log(1 + e^z) = -log sigmoid(-z), without overflow. */
const softplus = (z: number): number => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));

const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));
