/**
 * REINFORCE as an off-policy algorithm: what is clipped, how tokens weigh and what holds the policy
 * back, each by choice.
 */
import { booleanArg, choiceArg, ConfigError, numberArg } from '@trinity-rft/core';
import { rowWeights } from '../parts/aggregate.js';
import { tokenTerm } from '../parts/token-term.js';
import { clamp, definePolicyLoss, ratioOf, ratiosOf } from '../parts/policy-loss-part.js';
import { rangeTests } from './rec-range.js';
import { rowRatios } from './rows.js';

const args = {
  epsilonLow: numberArg(0.2, { above: 0, max: 1 }, 'Lower side of the trust range: 1 - this.'),
  epsilonHigh: numberArg(0.2, { above: 0 }, 'Upper side of the trust range: 1 + this.'),
  epsilonLowPrime: numberArg(
    0.6,
    { above: 0, max: 1 },
    'Lower side of the outer range, of clip_mode "ring" and of truncated weights: 1 - this.',
  ),
  epsilonHighPrime: numberArg(2, { above: 0 }, 'Upper side of the outer range: 1 + this.'),
  clipMode: choiceArg(
    ['none', 'two-side', 'one-side', 'gspo-one-side', 'ring'],
    'none',
    'Which tokens learn, by their importance ratio.',
  ),
  weight: choiceArg(
    [
      'none',
      'importance_sampling',
      'truncated_importance_sampling',
      'gspo_importance_sampling',
      'advantage',
    ],
    'none',
    'What the advantage of a token is multiplied by.',
  ),
  regularizer: choiceArg(
    ['none', 'k2', 'forward-kl'],
    'none',
    'What holds the policy near the old one.',
  ),
  regularizerCoef: numberArg(0, { min: 0 }, 'Coefficient of the regularizer.'),
  temp: numberArg(1, { above: 0 }, 'Temperature of the weight "advantage".'),
  fixOpdAdvantage: booleanArg(
    false,
    'Add old - current log-probability to the advantage, for distillation from stale rollouts.',
  ),
};

/**
 * l = -A' I x + c reg, where A' and I are constants of the gradient: dl/dx = -A' I, + 2 c d for
 * `k2` (reg = d^2), - c for `forward-kl` (reg = -x). The regularizer holds for tokens out of range
 * too. With s = e^(mean of d over the row):
 *
 * | clipMode | I = 1 where |
 * |---|---|
 * | `none` | always |
 * | `two-side` | 1 - low <= r <= 1 + high |
 * | `one-side` | r <= 1 + high for A >= 0, r >= 1 - low for A <= 0 |
 * | `gspo-one-side` | the same with s; aggregated as `seq-mean-token-mean`, whatever the mode |
 * | `ring` | as `two-side`, or r <= 1 - low' for A >= 0, or r >= 1 + high' for A <= 0 |
 *
 * A' is A times 1, r, clip(r, 1 - low', 1 + high'), s (with `gspo-one-side` only) or e^(A / temp).
 * `fixOpdAdvantage` adds o - sg(x) after that. Metrics `pg_loss`, `pg_clipfrac` (share with I = 0).
 * @see arXiv:2509.24203, section 4
 */
export const rec = definePolicyLoss({
  args,
  doc: {
    summary:
      'REINFORCE with a choice of clip, weight and regularizer: the family that contains GRPO, OPMD and AsymRE.',
    formula: "l = -A' [r in range] x + regularizer_coef * (d^2 or -x)",
    source: {
      title: 'Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm',
      url: 'https://arxiv.org/abs/2509.24203',
    },
  },
  create: (options) => {
    const { clipMode, weight, regularizer, regularizerCoef: coef, temp, fixOpdAdvantage } = options;
    const byRow = clipMode === 'gspo-one-side';
    if (weight === 'gspo_importance_sampling' && !byRow)
      throw new ConfigError(
        'The weight "gspo_importance_sampling" of policy loss "rec" needs clipMode "gspo-one-side".',
        {
          code: 'ARGUMENT_INVALID',
        },
      );
    const [outerLow, outerHigh] = [1 - options.epsilonLowPrime, 1 + options.epsilonHighPrime];
    const isInRange = rangeTests[clipMode]({
      low: 1 - options.epsilonLow,
      high: 1 + options.epsilonHigh,
      outerLow,
      outerHigh,
    });
    const weigh = (ratio: number, ofRow: number, advantage: number): number => {
      if (weight === 'none') return 1;
      if (weight === 'importance_sampling') return ratio;
      if (weight === 'truncated_importance_sampling') return clamp(ratio, outerLow, outerHigh);
      return weight === 'advantage' ? ratioOf(advantage / temp) : ofRow;
    };
    const [squared, linear] = [
      regularizer === 'k2' ? coef : 0,
      regularizer === 'forward-kl' ? coef : 0,
    ];
    return tokenTerm({
      open: (input) => ({
        ofRows: byRow ? rowRatios(input, 'mean') : undefined,
        weights: byRow ? rowWeights(input, 'seq-mean-token-mean') : undefined,
        outside: 0,
      }),
      weights: ({ weights }) => weights,
      visit: (block, state) => {
        const { size, row, current, d, advantage, value, gradient } = block;
        const [ratio, { ofRows }] = [ratiosOf(block), state];
        let outside = 0;
        for (let i = 0; i < size; i++) {
          const A = advantage[i]!;
          const r = ratio[i]!;
          const x = current[i]!;
          const rangeRatio = ofRows ? ofRows[row[i]!]! : r;
          let slope = 0;
          if (isInRange(rangeRatio, A))
            slope = -A * weigh(r, rangeRatio, A) + (fixOpdAdvantage ? d[i]! : 0);
          else outside++;
          value[i] = slope * x + squared * d[i]! * d[i]! - linear * x;
          gradient[i] = slope + 2 * squared * d[i]! - linear;
        }
        state.outside += outside;
      },
      metrics: (loss, mean, { outside }) => ({ pg_loss: loss, pg_clipfrac: mean(outside) }),
    });
  },
});
