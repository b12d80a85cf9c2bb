/**
 * Policy optimisation on sampled responses, combined with supervised learning on expert
 * demonstrations in a proportion that follows a schedule.
 */
import { booleanArg, numberArg } from '@trinity-rft/core';
import { composePolicyLoss } from '../parts/policy-loss-part.js';
import { mixture, mixtureArgs } from './mixture.js';
import { sftPhi } from './sft-phi.js';
import { sft } from './sft.js';

const share = { min: 0, max: 1 };
const args = {
  muWarmupSteps: numberArg(
    0,
    { min: 0 },
    'Steps over which the share of the supervised loss rises from 0 to mu_peak.',
  ),
  muDecaySteps: numberArg(
    0,
    { min: 0 },
    'Steps after that over which it falls to mu_valley, along a cosine.',
  ),
  muPeak: numberArg(0.1, share, 'Largest share of the supervised loss.'),
  muValley: numberArg(0.1, share, 'Share of the supervised loss after the decay.'),
  enablePhiFunction: booleanArg(
    true,
    'Weigh demonstrated tokens as sft_phi does; otherwise as sft.',
  ),
  ...mixtureArgs,
};

/** Schedule of mu. Durations are in optimizer steps, and values of mu are from 0 to 1. */
export interface MuSchedule {
  readonly muWarmupSteps: number;
  readonly muDecaySteps: number;
  readonly muPeak: number;
  readonly muValley: number;
}

/**
 * Returns mu at an optimizer step. With s = step, W = warm-up and D = decay, mu is (s / W) peak for
 * s < W, valley for s >= W + D, and between them valley + (peak - valley) (1 + cos(pi (s - W) / D))
 * / 2.
 */
export function muAt(
  step: number,
  { muWarmupSteps: warmup, muDecaySteps: decay, muPeak, muValley }: MuSchedule,
): number {
  if (step < warmup) return (step / warmup) * muPeak;
  if (step >= warmup + decay) return muValley;
  return muValley + ((muPeak - muValley) * (1 + Math.cos((Math.PI * (step - warmup)) / decay))) / 2;
}

/**
 * Computes loss = (1 - mu) L_ppo(sampled rows) + mu L_phi(demonstrated rows), where {@link muAt}
 * gives mu at the optimizer step. Unlike `mix`, reports metrics of 0 for a kind of rows that the
 * batch does not contain. Metrics `usual/<metrics of ppo>`, `expert/sft_phi_loss` (or `sft_loss`),
 * `loss`, `mu`.
 * @see CHORD, arXiv:2508.11408, eq. 4 to 9
 */
export const mixChord = composePolicyLoss(
  {
    args,
    needs: { rollouts: true, expertMask: true },
    doc: {
      summary:
        'The losses of ppo on sampled rows and of sft_phi on demonstrated rows, whose share rises and decays.',
      formula: 'loss = (1 - mu(step)) L_ppo(sampled rows) + mu(step) L_sft_phi(demonstrated rows)',
      source: {
        title:
          'On-Policy RL Meets Off-Policy Experts: Harmonizing SFT and RL via Dynamic Weighting',
        url: 'https://arxiv.org/abs/2508.11408',
      },
    },
  },
  (options) => {
    const mu = (step: number): number => muAt(step, options);
    const open = mixture({
      ...options,
      owner: 'mix_chord',
      mu,
      supervised: options.enablePhiFunction ? sftPhi.loss({ cutoffProb: 1 }) : sft.loss({}),
      reportsEmptyKinds: true,
    });
    return (input, aggregation) => {
      const { terms, metrics } = open(input, aggregation);
      return { terms, metrics: (results) => ({ ...metrics?.(results), mu: mu(input.step) }) };
    };
  },
);
