/**
 * Experiences, leases and an algorithm with a critic and an adaptive penalty, small enough to be
 * checked by hand.
 */
import { createExperience, type Experience, type ExperienceInit, noNeeds } from '@trinity-rft/core';
import type { Algorithm } from '@trinity-rft/core/internal';
import type { ExperienceSource, Lease } from '@trinity-rft/core/store';

/** An experience with two response tokens after one prompt token. */
export const sample = (run: number, init: Partial<ExperienceInit> = {}): Experience =>
  createExperience({
    eid: { batch: 1, task: 0, run },
    tokens: [1, 2 + (run % 3), 3],
    promptLength: 1,
    logprobs: [-1.5, -1.4],
    policyVersion: 0,
    temperature: 1,
    reward: run % 2,
    ...init,
  });

export interface Journal {
  readonly lines: string[];
}

/** A lease that logs how it ended. */
export function leaseOf(experiences: readonly Experience[], lines: string[] = []): Lease {
  return {
    experiences,
    metrics: {},
    acknowledge: async (step) => void lines.push(`used by ${step}`),
    release: async () => void lines.push('given back'),
  };
}

/** Source that returns the batches in order, except the first `used` ones. */
export function sourceOf(batches: readonly (readonly Experience[])[], used = 0): ExperienceSource {
  let next = used;
  return {
    take: async () => {
      const batch = batches[next++];
      return batch && leaseOf(batch);
    },
    rollback: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/**
 * A_t = (rewards to come) - V_t, the returns are the rewards to come; the value loss is half the
 * mean squared error.
 */
export const actorCritic: Algorithm = {
  needs: { ...noNeeds, rollouts: true, valueHead: true, referenceLogprobs: true },
  batchAdvantage: ({ offsets, rewards, values }) => {
    const returns = new Float32Array(rewards.length);
    for (let row = 0; row + 1 < offsets.length; row++) {
      let sum = 0;
      for (let i = offsets[row + 1]! - 1; i >= offsets[row]!; i--) returns[i] = sum += rewards[i]!;
    }
    return {
      returns,
      advantages: returns.map((value, i) => value - values![i]!),
      metrics: { seen: rewards.length },
    };
  },
  /**
   * Doubles its coefficient while the policy is closer to the reference than 0.01, else halves it.
   */
  klPenalty: {
    initialCoefficient: 0.1,
    adaptive: true,
    apply: ({ rewards, oldLogprobs, refLogprobs }, coefficient) => {
      const divergence = oldLogprobs.map((old, i) => old - refLogprobs![i]!);
      const kl = divergence.reduce((sum, value) => sum + value, 0) / divergence.length;
      return {
        rewards: rewards.map((reward, i) => reward - coefficient * divergence[i]!),
        nextCoefficient: kl < 0.01 ? coefficient * 2 : coefficient / 2,
        metrics: { kl, kl_coef: coefficient },
      };
    },
  },
  valueLoss: ({ values, returns, actionMask }) => {
    const count = actionMask.reduce((sum, bit) => sum + bit, 0);
    const errors = values.map((value, i) => (actionMask[i] ? value - returns[i]! : 0));
    return {
      loss: errors.reduce((sum, error) => sum + error ** 2, 0) / 2 / count,
      gradValues: errors.map((error) => error / count),
      metrics: { vf_loss: errors.reduce((sum, error) => sum + error ** 2, 0) / 2 / count },
    };
  },
  /** Policy gradient: minus the sum of advantage * log-probability over the trained tokens. */
  loss: ({ advantages, currentLogprobs, actionMask }) => ({
    loss: -advantages.reduce(
      (sum, advantage, i) => sum + advantage * currentLogprobs[i]! * actionMask[i]!,
      0,
    ),
    gradLogprobs: advantages.map((advantage, i) => -advantage * actionMask[i]!),
    metrics: {},
  }),
};
