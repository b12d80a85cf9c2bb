/**
 * Direct preference optimisation: learns from pairs of a better and a worse answer, without
 * rewards.
 */
import { choiceArg, InvariantError, numberArg, type LossInput } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

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
 * Even rows are chosen, the odd row after each is rejected. C = sum of x - f over the trained
 * tokens of the chosen answer, J of the rejected one, z = beta (C - J), e = `labelSmoothing`: l =
 * -(1 - e) log sigmoid(z) - e log sigmoid(-z), dl/dz = sigmoid(z) - (1 - e), dz/dx = beta for
 * chosen tokens, -beta for others.
 *
 * With `pairing` `each` the loss is the mean over pairs; with `batch`, as in the original, C and J
 * are sums over the whole batch. Aggregation modes have no meaning here. Metrics `dpo_loss`,
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
  create:
    ({ beta, labelSmoothing, pairing }) =>
    (input) => {
      const margins = rowMargins(input);
      const pairs = pairing === 'batch' ? Math.min(margins.length, 1) : pairsOf(margins.length);
      const [chosen, rejected] = [new Float64Array(pairs), new Float64Array(pairs)];
      const pairOf = (row: number): number => (pairing === 'batch' ? 0 : row >> 1);
      margins.forEach(
        (margin, row) => ((row % 2 === 0 ? chosen : rejected)[pairOf(row)]! += beta * margin),
      );

      const slopes = new Float64Array(pairs);
      let [loss, chosenSum, rejectedSum, right] = [0, 0, 0, 0];
      for (let pair = 0; pair < pairs; pair++) {
        const z = chosen[pair]! - rejected[pair]!;
        loss += ((1 - labelSmoothing) * softplus(-z) + labelSmoothing * softplus(z)) / pairs;
        slopes[pair] = (beta * (sigmoid(z) - (1 - labelSmoothing))) / pairs;
        chosenSum += chosen[pair]! / pairs;
        rejectedSum += rejected[pair]! / pairs;
        if (z > 0) right++;
      }
      const gradLogprobs = new Float32Array(input.actionMask.length);
      for (let row = 0; row < margins.length; row++) {
        const slope = row % 2 === 0 ? slopes[pairOf(row)]! : -slopes[pairOf(row)]!;
        for (let t = input.offsets[row]!; t < input.offsets[row + 1]!; t++)
          if (input.actionMask[t] === 1) gradLogprobs[t] = slope;
      }
      return {
        loss,
        gradLogprobs,
        metrics: {
          dpo_loss: loss,
          chosen_reward: chosenSum,
          rejected_reward: rejectedSum,
          accuracy_mean: pairs === 0 ? 0 : right / pairs,
        },
      };
    },
});

function pairsOf(rows: number): number {
  if (rows % 2 === 0) return rows / 2;
  throw new InvariantError(
    `The policy loss "dpo" was given ${rows} rows; expected pairs, a chosen row and the rejected one after it.`,
    {
      code: 'PAIRS_INCOMPLETE',
    },
  );
}

/** Sum of x - f over trained tokens. [B] */
function rowMargins({
  offsets,
  actionMask,
  currentLogprobs,
  refLogprobs,
}: LossInput): Float64Array {
  if (!refLogprobs)
    throw new InvariantError(
      'The policy loss "dpo" was given no log-probabilities of the reference; it declares that it needs them.',
      {
        code: 'REFERENCE_MISSING',
      },
    );
  const margins = new Float64Array(offsets.length - 1);
  for (let row = 0; row < margins.length; row++) {
    for (let t = offsets[row]!; t < offsets[row + 1]!; t++) {
      if (actionMask[t] === 1) margins[row]! += currentLogprobs[t]! - refLogprobs[t]!;
    }
  }
  return margins;
}

/** log(1 + e^z) without overflow: -log sigmoid(-z). */
const softplus = (z: number): number => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));

const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));
