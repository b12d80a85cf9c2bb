import { createExperience, type AdvantageFn } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createAlgorithm } from '../src/index.js';
import { expectClose, expectMetrics, readVectors } from './support.js';
import { camelCased, toExperience, type ExperienceVector } from './vector-inputs.js';

interface Vectors {
  readonly tolerance: number;
  readonly cases: readonly Case[];
  readonly gigpo: {
    readonly args: Readonly<Record<string, unknown>>;
    readonly steps: readonly {
      readonly run: number;
      readonly step: number;
      readonly step_reward: number;
      readonly hash: string;
    }[];
    readonly advantages: readonly number[];
    readonly metrics: Readonly<Record<string, number>>;
  };
}

interface Case {
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
}

const vectors = readVectors<Vectors>('advantages');

/** Where we differ from the original, and what restores it; without that, these hold instead. */
const deviations: Readonly<
  Record<
    string,
    {
      readonly restore: object;
      readonly scores?: readonly number[];
      readonly metrics?: Readonly<Record<string, number>>;
    }
  >
> = {
  // Penalised rewards 0, 0.95, 1.8, 2.55 in both places: the group sums to zero.
  'grpo/test/rank_penalty': {
    restore: { rankPenaltyRawNumerator: true },
    scores: [0, 0.95, 1.8, 2.55, 0, 0.95, 1.8, 2.55].map((reward) => (reward - 1.325) / 1.0988631),
  },
  // Run 0 ends with step 1 and its reward 1; run 1 has 0.5.
  'step_wise_grpo/out_of_order': {
    restore: { runReward: 'last_listed' },
    scores: [1, 1, -1, -1].map((sign) => (sign * 0.25) / (0.25 * Math.SQRT2 + 1e-6)),
    metrics: {
      'group_advantages/reward_mean/mean': 0.75,
      'group_advantages/reward_std/mean': 0.353553385,
    },
  },
  // The mean reward of the group of one is its reward, 0.7, instead of -shift.
  'asymre/mixed/{"baseline_shift": 0.2}': {
    restore: { rewardMeanFromBaseline: true },
    metrics: {
      'group_advantages/reward_mean/mean': (0.4375 + 1 + 0.7) / 3,
      'group_advantages/group_baseline/mean': 0.612500012,
    },
  },
};

const run = ({ fn, args, experiences }: Case, more: object = {}): ReturnType<AdvantageFn> =>
  createAlgorithm({
    advantageFn: { name: fn, args: { ...camelCased(args), ...more } },
    policyLossFn: { name: 'ppo' },
  }).advantage!(experiences.map(toExperience));

function expectOutput(
  result: ReturnType<AdvantageFn>,
  wanted: readonly (readonly number[])[],
  metrics: Readonly<Record<string, number>>,
) {
  expectClose(
    result.experiences.flatMap(({ advantages }) => [...advantages!]),
    wanted.flat(),
    vectors.tolerance,
  );
  expect(result.experiences.map(({ advantages }) => advantages)).toEqual(
    result.experiences.map(({ returns }) => returns),
  );
  expectMetrics(result.metrics, metrics, vectors.tolerance);
}

const advantagesOf = ({ expect: { output } }: Case): readonly (readonly number[])[] =>
  output.map(({ advantages }) => advantages);

describe('group advantages of the original', () => {
  it.each(vectors.cases)('$id', (each) => {
    const result = run(each, deviations[each.id]?.restore);
    expectOutput(result, advantagesOf(each), each.expect.metrics);
    expect(result.experiences.map(({ eid }) => `${eid.task}/${eid.run}/${eid.step}`)).toEqual(
      each.expect.output.map(({ task, run: index, step }) => `${task}/${index}/${step}`),
    );
  });

  it.each(Object.entries(deviations))('%s, put right', (id, { scores, metrics }) => {
    const each = vectors.cases.find((candidate) => candidate.id === id)!;
    const wanted = advantagesOf(each).map((advantages, i) =>
      scores ? advantages.map(() => scores[i]!) : advantages,
    );
    expectOutput(run(each), wanted, metrics ?? each.expect.metrics);
  });

  it('gigpo', () => {
    const { args, steps, advantages, metrics } = vectors.gigpo;
    const experiences = steps.map(({ run: index, step, step_reward, hash }) =>
      createExperience({
        tokens: [1, 2],
        promptLength: 1,
        eid: { batch: 0, task: 0, run: index, step },
        info: { step_reward, env_state_hash: hash },
      }),
    );
    const { advantage } = createAlgorithm({
      advantageFn: { name: 'gigpo', args: camelCased(args) },
      policyLossFn: { name: 'ppo' },
    });
    expectOutput(
      advantage!(experiences),
      advantages.map((value) => [value]),
      metrics,
    );
  });
});
