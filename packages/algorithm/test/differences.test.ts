/**
 * Default advantages that differ from Trinity-RFT's. The test vectors contain Trinity-RFT's values,
 * which arguments restore.
 */
import { createExperience, type AdvantageFn, type Experience } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { builtInTables } from '../src/index.js';

const make = (name: string, args: object): AdvantageFn =>
  builtInTables.advantageFns[name]!.make(`advantage function "${name}"`, args, 0).advantage!;

const experience = (run: number, reward: number, { step = 0, task = 0, logprob = -1 } = {}) =>
  createExperience({
    tokens: [1, 2],
    promptLength: 1,
    reward,
    logprobs: [logprob],
    eid: { batch: 0, task, run, step },
  });

const scoresOf = (experiences: readonly Experience[]): number[] =>
  experiences.map(({ advantages }) => advantages![0]!);

const close = (values: readonly number[]): unknown[] =>
  values.map((value) => expect.closeTo(value, 5) as unknown);

describe('by default', () => {
  it('grpo compares penalised rewards with their own mean', () => {
    const runs = [0, 1, 2, 3].map((reward) => experience(reward, reward, { logprob: reward - 4 }));
    const { experiences } = make('grpo', { rankPenalty: 0.2 })(runs);
    // The penalised rewards are 0, 0.95, 1.8, 2.55.
    const penalised = [0, 0.95, 1.8, 2.55].map((reward) => (reward - 1.325) / 1.0988631);
    expect(scoresOf(experiences)).toEqual(close(penalised));
  });

  it('step_wise_grpo takes the reward of the last step, in whatever order steps arrive', () => {
    const steps = [
      experience(0, 1, { step: 1 }),
      experience(0, 0, { step: 0 }),
      experience(1, 0.5, { step: 0 }),
    ];
    const { experiences, metrics } = make('step_wise_grpo', {})(steps);
    expect(scoresOf(experiences)).toEqual(close([Math.SQRT1_2, Math.SQRT1_2, -Math.SQRT1_2]));
    expect(metrics['group_advantages/reward_mean/mean']).toBe(0.75);
  });

  it('asymre reports the mean reward of a group of one as it is', () => {
    const { metrics } = make('asymre', { baselineShift: 0.2 })([experience(0, 0.7)]);
    expect(metrics['group_advantages/reward_mean/mean']).toBe(0.7);
  });
});
