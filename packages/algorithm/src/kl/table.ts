/**
 * KL functions by their names in YAML's `kl_loss_fn` and `kl_penalty_fn`. To add a function, write
 * an estimator, and an entry below.
 */
import type { PaperRef } from '../parts/part.js';
import { klEstimators } from './estimators.js';
import { klFunction, type KlPart } from './kl-function.js';

const approximating: PaperRef = {
  title: 'Approximating KL Divergence',
  url: 'http://joschu.net/blog/kl-approx.html',
};

export const klFns = {
  none: klFunction({
    summary: 'No divergence; the reference model does no work.',
    formula: '0',
  }),
  k1: klFunction(
    {
      summary: 'Log-ratio to the reference: unbiased, of high variance.',
      formula: 'x - f',
      source: approximating,
    },
    klEstimators.k1,
    'As a loss, its gradient is 1 for every token, whatever the reference says, so nothing holds the policy near it',
  ),
  k2: klFunction(
    {
      summary: 'Half the squared log-ratio: slightly biased, of low variance.',
      formula: '(x - f)^2 / 2',
      source: approximating,
    },
    klEstimators.k2,
  ),
  k3: klFunction(
    {
      summary: 'Unbiased and never negative.',
      formula: 'e^(f - x) - 1 - (f - x)',
      source: approximating,
    },
    klEstimators.k3,
  ),
  low_var_kl: klFunction(
    {
      summary: 'k3, bounded.',
      formula: 'clip(e^a - 1 - a, -10, 10), a = clip(f - x, -20, 20)',
      source: approximating,
    },
    klEstimators.low_var_kl,
  ),
  abs: klFunction(
    { summary: 'Absolute log-ratio to the reference.', formula: '|x - f|' },
    klEstimators.abs,
    'As a loss, its gradient is -1, 0 or 1 for every token, however far the reference is: that of the total variation, not of the KL divergence',
  ),
  corrected_k3: klFunction(
    {
      summary:
        'k3 corrected for samples of the old policy; plain k3 where there are no sampling log-probabilities, and as a penalty.',
      formula: 'clip(e^(x - o), 0, 2) (e^(f - x) - 1 - (f - x))',
      source: {
        title: 'DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models',
        url: 'https://arxiv.org/abs/2512.02556',
      },
    },
    klEstimators.corrected_k3,
  ),
} satisfies Readonly<Record<string, KlPart>>;
