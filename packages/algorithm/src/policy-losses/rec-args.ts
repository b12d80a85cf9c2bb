/** Arguments of the policy loss `rec`, and the conditions under which they have an effect. */
import { booleanArg, choiceArg, numberArg, onlyWith, type Arg } from '@trinity-rft/core';

const whenClipping = <T>(arg: Arg<T>): Arg<T> =>
  onlyWith('a clip_mode other than none', ({ clipMode }) => clipMode !== 'none', arg);

const whenOuter = <T>(arg: Arg<T>): Arg<T> =>
  onlyWith(
    'clip_mode: ring, or weight: truncated_importance_sampling',
    ({ clipMode, weight }) => clipMode === 'ring' || weight === 'truncated_importance_sampling',
    arg,
  );

export const recArgs = {
  epsilonLow: whenClipping(
    numberArg(0.2, { above: 0, max: 1 }, 'Lower side of the trust range: 1 - this.'),
  ),
  epsilonHigh: whenClipping(
    numberArg(0.2, { above: 0 }, 'Upper side of the trust range: 1 + this.'),
  ),
  epsilonLowPrime: whenOuter(
    numberArg(
      0.6,
      { above: 0, max: 1 },
      'Lower side of the outer range, of clip_mode "ring" and of truncated weights: 1 - this.',
    ),
  ),
  epsilonHighPrime: whenOuter(
    numberArg(2, { above: 0 }, 'Upper side of the outer range: 1 + this.'),
  ),
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
  regularizer: onlyWith(
    'regularizer_coef above 0',
    ({ regularizerCoef }) => regularizerCoef !== 0,
    choiceArg(
      ['none', 'k2', 'forward-kl'],
      'none',
      'Which regularizer keeps the policy near the old one.',
    ),
  ),
  regularizerCoef: onlyWith(
    'regularizer: k2 or forward-kl',
    ({ regularizer }) => regularizer !== 'none',
    numberArg(0, { min: 0 }, 'Coefficient of the regularizer.'),
  ),
  temp: onlyWith(
    'weight: advantage',
    ({ weight }) => weight === 'advantage',
    numberArg(1, { above: 0 }, 'Temperature of the weight "advantage".'),
  ),
  fixOpdAdvantage: booleanArg(
    false,
    'Add old - current log-probability to the advantage, for distillation from stale rollouts.',
  ),
};
