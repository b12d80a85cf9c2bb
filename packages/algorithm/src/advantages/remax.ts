/** ReMax: the baseline of a rollout is the reward of the greedy response to its task. */
import {
  type AdvantageFn,
  type Metrics,
  InvariantError,
  mean,
  RewardError,
  uid,
} from '@trinity-rft/core';
import type { AdvantageInput, AdvantageOutput } from '@trinity-rft/core/internal';
import { checkAdvantageInput } from '../parts/check-input.js';
import { rowSpans } from '../parts/rows.js';
import { onExperiences } from './shared/on-experiences.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { returnMetrics, trainedMoments } from './shared/whiten.js';

/**
 * Computes returns_t = sum of the rewards from token t on, and A_t = returns_t - b on trained
 * tokens. b is the reward of the greedy response to the task. In train batches, b is read from
 * `rewardBaselines`. On explore steps, b is `info.reward_baseline` of an experience, which the
 * workflow must set. For masked tokens, the advantage is returns_t, but no loss reads it. Rollouts
 * are not grouped by task.
 *
 * Metrics: `returns/mean` over trained tokens, `baseline/mean` over rows.
 */
export const remax = defineAdvantagePart({
  args: {},
  doc: {
    summary: 'How much better a run did than the greedy answer to its task.',
    formula:
      'A_t = sum_(u >= t) R_u - b, b the reward of the greedy answer, which the workflow writes to info.reward_baseline',
    source: {
      title:
        'ReMax: A Simple, Effective, and Efficient Reinforcement Learning Method for Aligning Large Language Models',
      url: 'https://arxiv.org/abs/2310.10505',
    },
  },
  comparesRuns: false,
  create: () => ({
    advantage: overExperiences,
    batchAdvantage: compare,
    needs: { rewardBaselines: true },
  }),
});

const overExperiences: AdvantageFn = (experiences) => {
  for (const { eid, info } of experiences) {
    if (Number.isFinite(info['reward_baseline'])) continue;
    throw new RewardError(
      `Experience ${uid(eid)} has no info.reward_baseline; remax needs the reward of the greedy answer there. ` +
        'Let the workflow answer once at temperature 0 and write that reward, or choose rloo, which needs no greedy answer.',
      { code: 'REWARD_BASELINE_MISSING', details: { uid: uid(eid) } },
    );
  }
  return onExperiences(compare)(experiences);
};

function compare(input: AdvantageInput): AdvantageOutput {
  checkAdvantageInput(input, ['rewards']);
  const { offsets, actionMask, rewards, rewardBaselines } = input;
  if (!rewardBaselines)
    throw new InvariantError(
      'The advantage function "remax" was given no rewards of greedy answers; expected `rewardBaselines`.',
      { code: 'REWARD_BASELINE_MISSING' },
    );
  const advantages = new Float32Array(rewards.length);
  const returns = new Float32Array(rewards.length);
  for (const [row, { start, end }] of rowSpans(offsets).entries()) {
    const baseline = rewardBaselines[row]!;
    let sum = 0;
    for (let t = end - 1; t >= start; t--) {
      sum += rewards[t]!;
      returns[t] = sum;
      advantages[t] = sum - baseline * actionMask[t]!;
    }
  }
  const baselines: Metrics =
    rewardBaselines.length === 0 ? {} : { 'baseline/mean': mean(rewardBaselines) };
  return {
    advantages,
    returns,
    metrics: { ...returnMetrics(trainedMoments(returns, actionMask)), ...baselines },
  };
}
