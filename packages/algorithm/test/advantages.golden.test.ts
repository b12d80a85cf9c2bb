import { describe, expect, it } from 'vitest';
import { createAlgorithm } from '../src/index.js';
import { camelCased, expectClose, expectMetrics, readVectors, toExperience, type ExperienceVector } from './support.js';

interface Vectors {
  readonly tolerance: number;
  readonly cases: readonly {
    readonly id: string;
    readonly fn: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly experiences: readonly ExperienceVector[];
    readonly expect: {
      readonly output: readonly {
        readonly task: number;
        readonly run: number;
        readonly step: number;
        readonly advantages: readonly number[];
      }[];
      readonly metrics: Readonly<Record<string, number>>;
    };
  }[];
}

const vectors = readVectors<Vectors>('advantages');

/**
 * Where we differ from the original on purpose, and what holds instead:
 * with a rank penalty the original subtracts the mean of penalised rewards from raw ones; by default a run's reward is that of
 * the last listed experience, not of the last step.
 */
const deviations: Readonly<Record<string, readonly number[]>> = {
  // Penalised rewards 0, 0.95, 1.8, 2.55 in both places: the group sums to zero.
  'grpo/test/rank_penalty': [0, 0.95, 1.8, 2.55, 0, 0.95, 1.8, 2.55].map((reward) => (reward - 1.325) / 1.0988631),
  // Run 0 ends with step 1 and its reward 1; run 1 has 0.5.
  'step_wise_grpo/out_of_order': [1, 1, -1, -1].map((sign) => (sign * 0.25) / (0.25 * Math.SQRT2 + 1e-6)),
};
const deviatingMetrics: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'step_wise_grpo/out_of_order': { 'group_advantages/reward_mean/mean': 0.75, 'group_advantages/reward_std/mean': 0.353553385 },
};

describe('group advantages of the original', () => {
  it.each(vectors.cases)('$id', ({ id, fn, args, experiences, expect: expected }) => {
    const { advantage } = createAlgorithm({ advantageFn: { name: fn, args: camelCased(args) }, policyLossFn: { name: 'ppo' } });
    const result = advantage!(experiences.map(toExperience));
    const scores = deviations[id];
    const wanted = expected.output.map(({ advantages }, i) => (scores ? advantages.map(() => scores[i]!) : advantages));

    expectClose(
      result.experiences.flatMap(({ advantages }) => [...advantages!]),
      wanted.flat(),
      vectors.tolerance,
    );
    expect(result.experiences.map(({ advantages }) => advantages)).toEqual(result.experiences.map(({ returns }) => returns));
    expect(result.experiences.map(({ eid }) => `${eid.task}/${eid.run}`)).toEqual(expected.output.map(({ task, run }) => `${task}/${run}`));
    expectMetrics(result.metrics, deviatingMetrics[id] ?? expected.metrics, vectors.tolerance);
  });
});
