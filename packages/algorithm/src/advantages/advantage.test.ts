import {
  createExperience,
  type AdvantageFn,
  type Experience,
  RewardError,
  uid,
  withFields,
} from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advantageFns } from './table.js';

const grpo = (args: object = {}, seed = 0): AdvantageFn =>
  advantageFns.grpo.make('grpo', args, seed).advantage!;
const stepWise = (args: object = {}): AdvantageFn =>
  advantageFns.step_wise_grpo.make('step_wise_grpo', args, 0).advantage!;

const run = (task: number, index: number, reward: number | undefined, step = 0): Experience =>
  createExperience({
    tokens: [1, 2, 3],
    promptLength: 1,
    logprobs: [-1, -index - 1],
    eid: { batch: 0, task, run: index, step },
    ...(reward !== undefined && { reward }),
  });
const group = (task: number, rewards: readonly number[]): Experience[] =>
  rewards.map((reward, index) => run(task, index, reward));
const scores = (experiences: readonly Experience[]): number[] =>
  experiences.map(({ advantages }) => advantages![0]!);

const reward = fc.integer({ min: -64, max: 64 }).map((value) => value / 16);
const rewards = fc.array(reward, { minLength: 2, maxLength: 8 });

describe.each([
  ['grpo', grpo],
  ['step_wise_grpo', stepWise],
])('%s', (_name, make) => {
  it('sums to zero over a group of two or more', () => {
    fc.assert(
      fc.property(
        fc.array(rewards, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('group', 'batch'),
        (groups, stdCalLevel) => {
          const { experiences } = make({ stdCalLevel })(
            groups.flatMap((values, task) => group(task, values)),
          );
          for (const task of groups.keys()) {
            const sum = scores(experiences.filter(({ eid }) => eid.task === task)).reduce(
              (a, b) => a + b,
              0,
            );
            expect(sum).toBeCloseTo(0, 4);
          }
        },
      ),
    );
  });

  it('drops groups of equal rewards with a threshold of 0, whatever their rounding', () => {
    expect(make({ stdThreshold: 0 })(group(0, [0.1, 0.1, 0.1])).metrics).toMatchObject({
      filtered_count: 3,
    });
  });

  it('leaves masked tokens at 0 and the input alone', () => {
    const masked = withFields(run(0, 0, 1), { actionMask: Uint8Array.of(0, 1) });
    const { experiences } = make()([masked, run(0, 1, 0)]);
    expect(experiences[0]!.advantages![0]).toBe(0);
    expect(experiences[0]!.advantages![1]).toBeGreaterThan(0);
    expect(masked.advantages).toBeUndefined();
  });

  it('reports the share of groups whose rewards are all equal', () => {
    const { metrics } = make()([
      ...group(0, [1, 1]),
      ...group(1, [0, 1]),
      ...group(2, [0, 0]),
      ...group(3, [0, 2]),
    ]);
    expect(metrics['group_advantages/zero_variance_ratio']).toBe(0.5);
  });

  it.each([
    [undefined, 'has no reward'],
    [NaN, 'has the reward NaN'],
    [Infinity, 'has the reward Infinity'],
  ])('rejects a reward of %s and names the experience', (value, message) => {
    const bad = withFields(run(3, 1, 0), { reward: value } as Partial<Experience>);
    expect(() => make()([run(3, 0, 1), bad])).toThrow(`Experience 0/3/1/0/ ${message}`);
    expect(() => make()([run(3, 0, 1), bad])).toThrow(RewardError);
  });
});

describe('grpo', () => {
  it('takes from likelier runs, so that the group still sums to zero', () => {
    const { experiences } = grpo({ rankPenalty: 0.5 })(group(0, [1, 1, 1, 1]));
    // Run 3 has the lowest log-probability and keeps its reward; run 0 has the highest and loses
    // 3/8 of it.
    expect(scores(experiences).toSorted((a, b) => b - a)).toEqual(scores(experiences).toReversed());
    expect(scores(experiences).reduce((a, b) => a + b)).toBeCloseTo(0, 5);
  });

  it('replaces dropped groups by copies with ids of their own', () => {
    const batch = [...group(0, [0, 1]), ...group(1, [1, 1]), ...group(2, [0, 0])];
    const { experiences, metrics } = grpo(
      { stdThreshold: 0, duplicateExperiences: true },
      7,
    )(batch);
    expect(experiences.map(({ eid }) => eid.task)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(new Set(experiences.map(({ eid }) => uid(eid))).size).toBe(6);
    expect(scores(experiences).slice(2)).toEqual([
      ...scores(experiences).slice(0, 2),
      ...scores(experiences).slice(0, 2),
    ]);
    expect(metrics['filtered_count']).toBe(4);
    expect(grpo({ stdThreshold: 0, duplicateExperiences: true }, 7)(batch).experiences).toEqual(
      experiences,
    );
  });

  it('has nothing to copy when every group was dropped', () => {
    const { experiences, metrics } = grpo({ stdThreshold: 0, duplicateExperiences: true })(
      group(0, [1, 1]),
    );
    expect([experiences.length, metrics['filtered_count']]).toEqual([0, 2]);
  });
});

describe('step_wise_grpo', () => {
  const twoRuns = [
    run(0, 0, 9, 0),
    run(0, 0, 1, 1),
    run(0, 1, 9, 0),
    run(0, 1, 9, 1),
    run(0, 1, 0, 2),
  ];

  it('takes the reward of the last step by id, and gives it to every step of the run', () => {
    const { experiences } = stepWise()(twoRuns.toReversed());
    expect(experiences.map(({ eid }) => `${eid.run}/${eid.step}`)).toEqual([
      '1/0',
      '1/1',
      '1/2',
      '0/0',
      '0/1',
    ]);
    expect(scores(experiences).map(Math.sign)).toEqual([-1, -1, -1, 1, 1]);
  });

  it('divides by the number of steps when asked to', () => {
    const [plain, normed] = [stepWise()(twoRuns), stepWise({ enableStepNorm: true })(twoRuns)];
    scores(normed.experiences).forEach((score, i) =>
      expect(score * (i < 2 ? 2 : 3)).toBeCloseTo(scores(plain.experiences)[i]!, 5),
    );
  });

  it('needs no reward but that of the last step', () => {
    expect(() => stepWise()([run(0, 0, undefined, 0), run(0, 0, 1, 1)])).not.toThrow();
    expect(() => stepWise()([run(0, 0, 1, 0), run(0, 0, undefined, 1)])).toThrow(
      'Experience 0/0/0/1/ has no reward',
    );
  });

  it('counts what it keeps and drops', () => {
    const { metrics } = stepWise({ stdThreshold: 0.1 })([
      ...twoRuns,
      ...group(1, [1, 1]),
      ...group(2, [1]),
    ]);
    expect(metrics).toMatchObject({
      experience_count: 5,
      filtered_count: 3,
      skipped_group_ratio: 2 / 3,
    });
  });
});

describe('std_cal_level none', () => {
  it.each([
    ['grpo', grpo],
    ['step_wise_grpo', stepWise],
  ])('leaves the distance to the mean as it is (%s)', (_name, make) => {
    expect(scores(make({ stdCalLevel: 'none' })(group(0, [0, 1, 5])).experiences)).toEqual([
      -2, -1, 3,
    ]);
  });
});

describe('raft', () => {
  const raft = (args: object = {}): AdvantageFn =>
    advantageFns.raft.make('raft', args, 0).advantage!;
  const batch = [
    ...group(0, [0, 1, 1]),
    ...group(1, [-1, -2]),
    run(2, 0, 0.5, 0),
    run(2, 0, 2, 1),
    run(2, 1, 3, 0),
    run(2, 1, 1, 1),
  ];
  const ids = (experiences: readonly Experience[]): readonly string[] =>
    experiences.map(({ eid }) => `${eid.task}/${eid.run}/${eid.step}`);

  it('keeps the best run of each task, whole, to be imitated', () => {
    const { experiences, metrics } = raft()(batch);
    expect(ids(experiences)).toEqual(['0/1/0', '1/0/0', '2/0/0', '2/0/1']);
    expect(experiences.flatMap(({ advantages }) => [...advantages!])).toEqual(
      Array.from({ length: 8 }, () => 1),
    );
    expect(metrics).toMatchObject({
      experience_count: 4,
      filtered_count: 5,
      'raft/kept_run_ratio': 3 / 7,
    });
    expect(metrics['raft/kept_reward_mean']).toBeCloseTo((1 - 1 + 2) / 3, 10);
  });

  it.each([
    [{ keep: 'positive' }, ['0/1/0', '0/2/0', '2/0/0', '2/0/1', '2/1/0', '2/1/1']],
    [
      { keep: 'all', minReward: -1 },
      ['0/0/0', '0/1/0', '0/2/0', '1/0/0', '2/0/0', '2/0/1', '2/1/0', '2/1/1'],
    ],
    [{ minReward: 0.5 }, ['0/1/0', '2/0/0', '2/0/1']],
    [{ minReward: 9 }, []],
  ])('with %j keeps %j', (args, kept) => {
    expect(ids(raft(args)(batch).experiences)).toEqual(kept);
  });
});

describe('gigpo', () => {
  const gigpo = (args: object = {}): AdvantageFn =>
    advantageFns.gigpo.make('gigpo', { epsilon: 0, ...args }, 0).advantage!;
  const step = (
    task: number,
    index: number,
    at: number,
    info: object,
    reward?: number,
  ): Experience => withFields(run(task, index, reward, at), { info: { ...info } });

  it('gives the reward of a run without step rewards to its last step', () => {
    const { experiences } = gigpo({ gamma: 0.5 })([
      step(0, 0, 1, { env_state_hash: 'b' }, 4),
      step(0, 0, 0, { env_state_hash: 'a' }, 9),
      step(0, 1, 0, { env_state_hash: 'a' }, 0),
    ]);
    // Runs: 4 and 0, mean 2. Steps in state a: 0.5 * 4 and 0, mean 1.
    expect(experiences.map(({ eid }) => `${eid.run}/${eid.step}`)).toEqual(['0/0', '0/1', '1/0']);
    expect(scores(experiences)).toEqual([2 + 1, 2, -2 - 1]);
  });

  it('takes missing step rewards as 0 where another step of the run has one', () => {
    const { experiences } = gigpo({ omega: 0 })([
      step(0, 0, 0, { step_reward: 3 }),
      step(0, 0, 1, {}, 100),
      step(0, 1, 0, { step_reward: 1 }),
    ]);
    expect(scores(experiences)).toEqual([1, 1, -1]);
  });

  it.each([
    ['text as reward', { score: '1' }, 'has the info.score "1". Write a number'],
    ['flag as reward', { score: true }, 'has the info.score true. Write a number'],
    ['list as state', { score: 1, place: [3] }, 'has the info.place [3]. Write a text or a number'],
  ])('names a %s, which would count as missing', (_, info, message) => {
    const compare = gigpo({ stepRewardKey: 'score', envStateHashKey: 'place' });
    const batch = [step(0, 0, 0, { score: 1, place: 'a' }), step(0, 1, 0, info)];
    expect(() => compare(batch)).toThrow(RewardError);
    expect(() => compare(batch)).toThrow(`Experience ${uid(batch[1]!.eid)} ${message}`);
  });

  it('compares equal states within a task, or across the batch when asked to', () => {
    const batch = [
      step(0, 0, 0, { env_state_hash: 'a' }, 1),
      step(1, 0, 0, { env_state_hash: 'a' }, 0),
    ];
    expect(gigpo()(batch).metrics).toMatchObject({
      'gigpo/anchor_groups_size_gt1': 0,
      'gigpo/anchor_group_hit_ratio': 0,
    });
    expect(scores(gigpo({ anchorScope: 'batch' })(batch).experiences)).toEqual([1.5, -0.5]);
  });

  it('divides by the deviation when asked to', () => {
    const batch = [step(0, 0, 0, {}, 4), step(0, 1, 0, {}, 0)];
    expect(scores(gigpo({ fnorm: 'std' })(batch).experiences)[0]).toBeCloseTo(2 / Math.sqrt(8), 6);
  });
});
