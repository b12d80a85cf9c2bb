import {
  createExperience,
  type Experience,
  type ExperienceInit,
  RewardError,
} from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOperators } from '../registry/create-operators.js';
import { experienceOperators } from './table.js';

const of = (task: number, run: number, init: Partial<ExperienceInit> = {}, step = 0): Experience =>
  createExperience({
    tokens: [1, 2, 3],
    promptLength: 1,
    eid: { batch: 1, task, run, step, suffix: 'a' },
    ...init,
  });
const apply = (name: string, experiences: readonly Experience[], args?: Record<string, unknown>) =>
  createOperators([{ name, args }])[0]!.apply(experiences);
const group = (task: number, ...rewards: number[]): readonly Experience[] =>
  rewards.map((reward, run) => of(task, run, { reward }));
const rewardsOf = (experiences: readonly Experience[]) => experiences.map(({ reward }) => reward);

it.each(Object.keys(experienceOperators).filter((name) => name !== 'overlong_penalty'))(
  '%s makes nothing of nothing',
  (name) => {
    expect(apply(name, []).experiences).toEqual([]);
  },
);

it('names what is wrong with a choice', () => {
  expect(() => createOperators([{ name: 'reward_filtr' }])).toThrow(
    'There is no operator "reward_filtr". Did you mean "reward_filter"?',
  );
  expect(() => createOperators([{ name: 'reward_filter', args: { treshold: 1 } }])).toThrow(
    'There is no argument "treshold" of operator "reward_filter".',
  );
  expect(() =>
    createOperators([
      {
        name: 'reward_shaping_mapper',
        args: { rewardShapingConfigs: [{ stats_key: 'a', op_type: 'POW' }] },
      },
    ]),
  ).toThrow(
    'expected a list of { stats_key: a text, op_type: ADD, SUB, MUL or DIV, weight: a number }',
  );
  expect(() => createOperators([{ name: 'overlong_penalty' }])).toThrow(
    '"maxResponseLength" of operator "overlong_penalty" is not set; expected a number > "cacheLength"',
  );
});

describe('filters', () => {
  it('keep what was rewarded at least so much', () => {
    const { experiences, metrics } = apply('reward_filter', group(0, 0.4, 0.5, 1), {
      threshold: 0.5,
    });
    expect(rewardsOf(experiences)).toEqual([0.5, 1]);
    expect(metrics).toEqual({ filtered_count: 1 });
  });

  it('name the experience that has no reward', () => {
    for (const name of [
      'reward_filter',
      'reward_std_filter',
      'dapo_dynamic_sampling',
      'reward_shaping_mapper',
    ])
      expect(() => apply(name, [of(3, 0), of(3, 1)])).toThrow(RewardError);
  });

  it('drop what has no reward, or one that is no number', () => {
    const broken = { ...of(0, 2, { reward: 1 }), reward: Number.NaN };
    const { experiences, metrics } = apply('invalid_reward_filter', [
      of(0, 0),
      of(0, 1, { reward: 0 }),
      broken,
    ]);
    expect(rewardsOf(experiences)).toEqual([0]);
    expect(metrics).toEqual({ filtered_count: 2 });
  });

  it('drop groups whose rewards do not differ more than the threshold', () => {
    const { experiences, metrics } = apply('reward_std_filter', [
      ...group(0, 0.1, 0.1, 0.1),
      ...group(1, 0, 1),
      ...group(2, 5),
    ]);
    expect(experiences.map(({ eid }) => eid.task)).toEqual([1, 1]);
    expect(metrics).toMatchObject({
      filtered_count: 4,
      'reward_std/max': 0.5,
      'reward_std/min': 0,
      'reward_mean/max': 0.5,
    });
    expect(apply('reward_std_filter', group(1, 0, 1), { threshold: 0.5 }).experiences).toEqual([]);
  });
});

describe('dapo_dynamic_sampling', () => {
  it('judges a run of several steps by its last one', () => {
    const run = (number: number, last: number) => [
      of(0, number, { reward: last }, 1),
      of(0, number, { reward: 1 - last }, 0),
    ];
    expect(apply('dapo_dynamic_sampling', [...run(0, 1), ...run(1, 0)]).experiences).toHaveLength(
      4,
    );
    expect(apply('dapo_dynamic_sampling', [...run(0, 1), ...run(1, 1)]).metrics).toMatchObject({
      filtered_count: 4,
      dropped_all_correct: 4,
    });
    expect(apply('dapo_dynamic_sampling', run(0, 1)).metrics).toEqual({
      filtered_count: 2,
      dropped_all_correct: 0,
      dropped_all_wrong: 0,
    });
  });

  it('reads another metric and another threshold', () => {
    const scored = [0.2, 0.8].map((score, run) => of(0, run, { reward: 0, metrics: { score } }));
    expect(apply('dapo_dynamic_sampling', scored, { metricKey: 'score' }).experiences).toEqual([]);
    expect(
      apply('dapo_dynamic_sampling', scored, { metricKey: 'score', correctThreshold: 0.5 })
        .experiences,
    ).toEqual(scored);
  });

  it('keeps whole groups or none, and counts what it drops', () => {
    const runs = fc.array(
      fc.record({ task: fc.integer({ min: 0, max: 4 }), correct: fc.boolean() }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(runs, (list) => {
        const all = list.map(({ task, correct }, run) =>
          of(task, run, { reward: correct ? 1 : -1 }),
        );
        const { experiences, metrics } = apply('dapo_dynamic_sampling', all);
        expect(metrics['filtered_count']).toBe(all.length - experiences.length);
        for (const task of new Set(list.map((run) => run.task))) {
          const members = list.filter((run) => run.task === task);
          const mixed =
            members.some(({ correct }) => correct) && members.some(({ correct }) => !correct);
          expect(experiences.filter(({ eid }) => eid.task === task)).toHaveLength(
            mixed ? members.length : 0,
          );
        }
      }),
    );
  });
});

it('does not train on truncated responses, and leaves them where they are', () => {
  const cut = of(0, 1, { truncateStatus: 'response_truncated', reward: -1 });
  const { experiences, metrics } = apply('mask_response_truncated', [of(0, 0), cut]);
  expect(experiences.map(({ actionMask }) => [...actionMask])).toEqual([
    [1, 1],
    [0, 0],
  ]);
  expect(metrics).toEqual({ masked_truncated_count: 1 });
  expect([...cut.actionMask]).toEqual([1, 1]);
});

it.each([
  [6, 0],
  [7, -0.5],
  [8, -1],
  [9, -2],
  [10, -2],
])('takes its share of the reward off a response of %i tokens', (length, penalty) => {
  // L = 8 and c = 2: the penalty is 0 up to L - c and -f at L. The factor f = 2 shows that the penalty
  // scales with it.
  const experience = of(0, 0, { tokens: Array.from({ length: length + 1 }, () => 1), reward: 1 });
  const factor = length > 8 ? 2 : 1;
  const { experiences } = apply('overlong_penalty', [experience], {
    maxResponseLength: 8,
    cacheLength: 2,
    penaltyFactor: factor,
  });
  expect(experiences[0]!.reward).toBeCloseTo(1 + penalty, 12);
});

it.each([
  ['overlong_penalty', { maxResponseLength: 1 }],
  ['reward_shaping_mapper', { rewardShapingConfigs: [{ stats_key: 'penalty' }] }],
])('%s changes the reward of the last token, last call and step too', (name, args) => {
  const init = { reward: 1, info: { penalty: -1, step_reward: 0.5 } };
  const spans = [0, 1].map((start) => ({
    start,
    end: start + 1,
    step: start,
    policyVersion: 0,
    reward: 0.25,
  }));
  const { experiences } = apply(
    name,
    [of(0, 0, { ...init, tokenRewards: [0.5, 0.25] }), { ...of(0, 1, init), spans }],
    args,
  );
  expect([...experiences[0]!.tokenRewards!]).toEqual([0.5, -0.75]);
  expect(experiences[1]!.spans!.map(({ reward }) => reward)).toEqual([0.25, -0.75]);
  expect(rewardsOf(experiences)).toEqual([0, 0]);
  expect(experiences.map(({ info }) => info['step_reward'])).toEqual([-0.5, -0.5]);
});

describe('reward_shaping_mapper', () => {
  const shape = (experience: Experience, ...rewardShapingConfigs: object[]) =>
    apply('reward_shaping_mapper', [experience], { rewardShapingConfigs });

  it('multiplies the reward of a step as it does that of the run', () => {
    const steps = [0, 0, 0, 1].map((reward, step) =>
      of(0, step, { reward: 1, info: { share: 0.5, step_reward: reward } }),
    );
    const changed = steps.map(
      (step) => shape(step, { stats_key: 'share', op_type: 'MUL' }).experiences[0]!,
    );
    expect(rewardsOf(changed)).toEqual([0.5, 0.5, 0.5, 0.5]);
    expect(changed.map(({ info }) => info['step_reward'])).toEqual([0, 0, 0, 0.5]);
  });

  it('reads info before metrics, and counts what is not there', () => {
    const experience = of(0, 0, { reward: 10, info: { a: 2 }, metrics: { a: 5, b: 4 } });
    const { experiences, metrics } = shape(
      experience,
      { stats_key: 'a', op_type: 'DIV', weight: 0.5 },
      { stats_key: 'b', op_type: 'SUB' },
      { stats_key: 'c' },
    );
    expect(experiences[0]!.reward).toBe(6);
    expect(metrics).toEqual({
      'reward_diff/mean': -4,
      'reward_diff/max': -4,
      'reward_diff/min': -4,
      missing_stats_count: 1,
      unused_stats_count: 1,
    });
  });

  it('does not count a number as unused that some experiences have', () => {
    const experiences = [{ a: 1 }, { b: 1 }].map((info, run) => of(0, run, { reward: 1, info }));
    const rewardShapingConfigs = [{ stats_key: 'a' }, { stats_key: 'b' }, { stats_key: 'c' }];
    const { metrics } = apply('reward_shaping_mapper', experiences, { rewardShapingConfigs });
    expect(metrics).toMatchObject({ missing_stats_count: 4, unused_stats_count: 1 });
  });

  it('leaves the reward alone where it would divide by 0, and rejects what is no number', () => {
    expect(
      shape(of(0, 0, { reward: 3, info: { a: 0 } }), { stats_key: 'a', op_type: 'DIV' })
        .experiences[0]!.reward,
    ).toBe(3);
    expect(() => shape(of(0, 0, { reward: 3, info: { a: 'high' } }), { stats_key: 'a' })).toThrow(
      'found "high" under "a"; expected a number, at experience 1/0/0/0/a',
    );
    expect(() =>
      shape(of(0, 0, { reward: 1e308, info: { a: 1e308 } }), { stats_key: 'a', op_type: 'MUL' }),
    ).toThrow('into Infinity');
  });
});
