import { createExperience, runKey, type Experience, uid, withFields } from '@trinity-rft/core';
import type { AdvantageInput } from '@trinity-rft/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtInTables, onExperiences, type AdvantageStrategy } from '../src/index.js';

const runs = { numRuns: 60 };
const make = (name: string, args: object = {}, seed = 0): AdvantageStrategy =>
  builtInTables.advantageFns[name]!.make(`advantage function "${name}"`, args, seed);

/** Multiples of 1/16, so that sums and means of a few rewards are exact. */
const reward = fc.integer({ min: -64, max: 64 }).map((value) => value / 16);
const group = fc.array(reward, { minLength: 1, maxLength: 6 });
const groups = fc.array(group, { minLength: 1, maxLength: 4 });

const run = (task: number, index: number, value: number): Experience =>
  createExperience({
    tokens: [1, 2, 3, 4],
    promptLength: 1,
    actionMask: [1, index % 2, 1],
    logprobs: [-1, -0.5, -0.25 * (index + 1)].map((x, t) => (t === 1 && index % 2 === 0 ? 0 : x)),
    reward: value,
    eid: { batch: 0, task, run: index },
    info: { reward_baseline: 0.5 },
  });
const toExperiences = (rewards: readonly (readonly number[])[]): Experience[] =>
  rewards.flatMap((values, task) => values.map((value, index) => run(task, index, value)));
/** Score of every run by its id. The last token of a run is always trained. */
const scores = (
  strategy: AdvantageStrategy,
  experiences: readonly Experience[],
): ReadonlyMap<string, number> =>
  new Map(
    strategy.advantage!(experiences).experiences.map(({ eid, advantages }) => [
      uid(eid),
      advantages![2]!,
    ]),
  );

function expectSame(
  actual: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
  digits = 4,
): void {
  expect([...actual.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
  for (const [id, value] of expected) expect(actual.get(id)).toBeCloseTo(value, digits);
}

const centred = ['grpo', 'step_wise_grpo', 'grpo_verl', 'opmd', 'opmd_verl', 'rloo', 'rec'];
const shiftFree = [...centred, 'asymre', 'asymre_verl'];
const comparing = [...shiftFree, 'gigpo'];
const perRun = [...comparing, 'reinforce'];

describe.each(centred)('%s', (name) => {
  it('sums to zero over the runs of a task, but for a single run', () => {
    fc.assert(
      fc.property(groups, (rewards) => {
        const by = scores(make(name), toExperiences(rewards));
        for (const [task, values] of rewards.entries()) {
          if (values.length === 1) continue;
          const sum = values.reduce(
            (total, _, index) => total + by.get(`0/${task}/${index}/0/`)!,
            0,
          );
          expect(sum).toBeCloseTo(0, 3);
        }
      }),
      runs,
    );
  });
});

describe.each(shiftFree)('%s', (name) => {
  it('does not change when a constant is added to the rewards of a task of several runs', () => {
    fc.assert(
      fc.property(
        fc.array(reward, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: -8, max: 8 }),
        (values, shift) => {
          const shifted = scores(make(name), toExperiences([values.map((value) => value + shift)]));
          expectSame(shifted, scores(make(name), toExperiences([values])));
        },
      ),
      runs,
    );
  });
});

describe.each(perRun)('%s', (name) => {
  it('does not depend on the order of the input', () => {
    fc.assert(
      fc.property(groups, fc.infiniteStream(fc.nat()), (rewards, keys) => {
        const experiences = toExperiences(rewards);
        const shuffled = experiences
          .map((experience) => ({ experience, key: keys.next().value as number }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ experience }) => experience);
        expectSame(scores(make(name), shuffled), scores(make(name), experiences));
      }),
      runs,
    );
  });

  it('does not let tasks influence each other', () => {
    fc.assert(
      fc.property(groups, (rewards) => {
        const together = scores(make(name), toExperiences(rewards));
        const alone = rewards.map((values, task) =>
          values.map((value, index) => run(task, index, value)),
        );
        for (const experiences of alone)
          for (const [id, value] of scores(make(name), experiences))
            expect(together.get(id)).toBe(value);
      }),
      runs,
    );
  });

  it('gives a single run its reward', () => {
    const single = scores(make(name), toExperiences([[0.75]])).get('0/0/0/0/')!;
    expect(single).toBeCloseTo(0.75, 4);
  });

  it('has nothing to say about nothing', () => {
    expect(make(name).advantage!([]).experiences).toEqual([]);
  });

  it('names the experience without a reward', () => {
    const { reward: _, ...bad } = run(3, 1, 0);
    expect(() => make(name).advantage!([run(3, 0, 1), bad])).toThrow(
      'Experience 0/3/1/0/ has no reward',
    );
  });
});

describe.each(comparing.filter((name) => !name.startsWith('asymre')))('%s', (name) => {
  it('gives exactly 0 to rewards that are equal, whatever their rounding', () => {
    expect(
      [...scores(make(name), toExperiences([[0.1, 0.1, 0.1]])).values()].map((value) => value + 0),
    ).toEqual([0, 0, 0]);
  });
});

/** Arguments by which an advantage function divides by `epsilon` plus a deviation. */
const divided: Readonly<Record<string, object>> = {
  gigpo: { fnorm: 'std' },
  rec: { stdNormalize: true },
};
const divides = Object.entries(builtInTables.advantageFns)
  .filter(([, { args }]) => 'epsilon' in args)
  .flatMap(([name, { args }]) => [
    [name, divided[name] ?? {}] as const,
    ...('stdCalLevel' in args ? [[name, { stdCalLevel: 'batch' }] as const] : []),
  ]);

/** Scores on explore steps and on train batches, as far as the function has both. */
function allScores(
  { advantage, batchAdvantage }: AdvantageStrategy,
  experiences: readonly Experience[],
): readonly number[] {
  const onBatches = onExperiences((input) => {
    const zeros = new Float32Array(input.actionMask.length);
    return batchAdvantage!({ ...input, entropy: zeros, necs: zeros });
  });
  return [advantage, batchAdvantage && onBatches].flatMap(
    (fn) => fn?.(experiences).experiences.flatMap(({ advantages }) => [...advantages!]) ?? [],
  );
}

describe.each(divides)('%s %j', (name, args) => {
  const equal = [0.1, 0.1, 0.1];
  const strategy = make(name, { ...args, epsilon: 0 });

  it('with an epsilon of 0 gives 0 to equal rewards', () => {
    const given = allScores(strategy, toExperiences([equal]));
    expect(given.map((score) => score + 0)).toEqual(given.map(() => 0));
  });

  it('with an epsilon of 0 gives finite numbers', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(equal, [1, 0], [0.1])), (rewards) => {
        expect(allScores(strategy, toExperiences(rewards)).every(Number.isFinite)).toBe(true);
      }),
      runs,
    );
  });
});

/** Number of calls into which each run is split. */
const splits = fc.infiniteStream(fc.integer({ min: 1, max: 9 }));
const inCalls = (experience: Experience, calls: number): Experience[] =>
  Array.from({ length: calls }, (_, step) =>
    withFields(experience, { eid: { ...experience.eid, step } }),
  );
/** Scores of every run by its key. */
const scoresOfRuns = (
  strategy: AdvantageStrategy,
  experiences: readonly Experience[],
): ReadonlyMap<string, ReadonlySet<number>> => {
  const by = new Map<string, Set<number>>();
  for (const { eid, advantages } of strategy.advantage!(experiences).experiences)
    by.set(runKey(eid), (by.get(runKey(eid)) ?? new Set()).add(advantages![2]!));
  return by;
};
const rankPenalty = { rankPenalty: 0.25 };

describe.each([
  ...perRun.map((name) => [name, {}] as const),
  ['grpo', rankPenalty] as const,
  ['grpo', { stdCalLevel: 'batch' }] as const,
])('%s %j', (name, args) => {
  it('gives a run the same, however many calls it makes', () => {
    fc.assert(
      fc.property(groups, splits, (rewards, counts) => {
        const whole = toExperiences(rewards);
        const split = whole.flatMap((experience) => inCalls(experience, counts.next().value));
        expect(scoresOfRuns(make(name, args), split)).toEqual(
          scoresOfRuns(make(name, args), whole),
        );
      }),
      runs,
    );
  });
});

describe('runs of 1 and 9 calls', () => {
  const uneven = [run(0, 0, 1), ...inCalls(run(0, 1, 0), 9)];

  it.each([
    ['grpo', Math.SQRT1_2],
    ['rloo', 1],
    ['opmd', 0.5],
    ['rec', 0.5],
  ])('are two runs for %s', (name, advantage) => {
    const [first, second] = [...scoresOfRuns(make(name), uneven).values()].map(([only]) => only);
    expect(first).toBeCloseTo(advantage, 5);
    expect(second).toBeCloseTo(-advantage, 5);
  });

  it('are ten of a kind for the original', () => {
    const scored = scoresOfRuns(make('grpo', { compare: 'calls' }), uneven);
    const [first, second] = [...scored.values()].map(([only]) => only);
    expect(first).toBeCloseTo(2.846, 3);
    expect(second).toBeCloseTo(-0.316, 3);
  });

  const [early, late] = inCalls(run(0, 0, 0), 2).map((call, step) =>
    withFields(call, { reward: step }),
  );

  it.each(['opmd', 'step_wise_grpo', 'raft'])('count runs whose calls differ, for %s', (name) => {
    const { metrics } = make(name).advantage!([late!, early!, run(0, 1, 0)]);
    const mean = metrics['raft/kept_reward_mean'] ?? metrics['group_advantages/reward_mean/mean'];
    expect(mean).toBe(name === 'raft' ? 1 : 0.5);
    expect(metrics['group_advantages/uneven_runs']).toBe(1);
  });

  it('count as uneven for gigpo only if no call has a step reward', () => {
    const unevenRuns = (calls: readonly Experience[]) =>
      make('gigpo').advantage!([...calls, run(0, 1, 0)]).metrics['group_advantages/uneven_runs'];
    expect(unevenRuns([late!, early!])).toBe(1);
    const stepReward = withFields(early!, { info: { step_reward: 1 } });
    expect(unevenRuns([late!, stepReward])).toBeUndefined();
  });

  it('are not uneven by calls that have token rewards instead of a reward', () => {
    const [first, ...others] = inCalls(run(0, 0, 1), 3);
    const { reward: _, ...rest } = first!;
    const tokenRewards = new Float32Array(rest.actionMask.length).fill(0.5);
    const calls = [{ ...rest, tokenRewards }, ...others, run(0, 1, 0)];
    const { metrics } = make('rloo').advantage!(calls);
    expect(metrics['group_advantages/uneven_runs']).toBeUndefined();
  });
});

describe('scale', () => {
  it.each(['opmd', 'asymre', 'rloo', 'reinforce', 'rec'])('%s grows with the rewards', (name) => {
    fc.assert(
      fc.property(groups, (rewards) => {
        // The shift of asymre scales with the rewards.
        const args = (factor: number): object =>
          name === 'asymre' ? { baselineShift: -0.1 * factor } : {};
        const doubled = scores(
          make(name, args(2)),
          toExperiences(rewards.map((values) => values.map((value) => 2 * value))),
        );
        for (const [id, value] of scores(make(name, args(1)), toExperiences(rewards)))
          expect(doubled.get(id)).toBeCloseTo(2 * value, 4);
      }),
      runs,
    );
  });

  it.each([
    ['grpo', {}],
    ['step_wise_grpo', {}],
    ['grpo_verl', {}],
    ['rec', { stdNormalize: true }],
  ])('%s does not, where it divides by the deviation', (name, more) => {
    fc.assert(
      fc.property(fc.array(reward, { minLength: 2, maxLength: 6 }), (values) => {
        const strategy = make(name, { ...more, epsilon: 0 });
        if (new Set(values).size === 1) return;
        expectSame(
          scores(strategy, toExperiences([values.map((value) => 2 * value)])),
          scores(strategy, toExperiences([values])),
        );
      }),
      runs,
    );
  });
});

describe('duplication', () => {
  it.each(['opmd', 'asymre', 'rec'])('leaves %s as it is: population statistics', (name) => {
    fc.assert(
      fc.property(fc.array(reward, { minLength: 2, maxLength: 5 }), (values) => {
        const twice = scores(make(name), toExperiences([[...values, ...values]]));
        for (const [id, value] of scores(make(name), toExperiences([values])))
          expect(twice.get(id)).toBeCloseTo(value, 4);
      }),
      runs,
    );
  });
});

describe('on train batches', () => {
  const names = Object.keys(builtInTables.advantageFns).filter(
    (name) => make(name).advantage && make(name).batchAdvantage,
  );

  it.each([
    ...names.map((name) => [name, {}] as const),
    ...(['batch', 'none'] as const).map((stdCalLevel) => ['grpo', { stdCalLevel }] as const),
  ])('%s %j gives what it gives on experiences', (name, args) => {
    fc.assert(
      fc.property(groups, splits, (rewards, counts) => {
        const experiences = toExperiences(rewards)
          .map((experience) =>
            withFields(experience, {
              teacherLogprobs: experience.logprobs.map((x, t) => x / 2 - t / 8),
            }),
          )
          .flatMap((experience) => inCalls(experience, counts.next().value));
        const input: AdvantageInput = {
          offsets: Int32Array.from([0, ...experiences.map((_, i) => 3 * (i + 1))]),
          actionMask: Uint8Array.from(experiences.flatMap(({ actionMask }) => [...actionMask])),
          rewards: Float32Array.from(
            experiences.flatMap((experience) => [0, 0, experience.reward!]),
          ),
          tasks: Int32Array.from(experiences, ({ eid }) => Number(eid.task)),
          runs: Int32Array.from(experiences, ({ eid }) => Number(eid.task) * 10 + eid.run),
          runRewards: Float32Array.from(experiences, ({ reward: own }) => own!),
          oldLogprobs: Float32Array.from(experiences.flatMap(({ logprobs }) => [...logprobs])),
          teacherLogprobs: Float32Array.from(
            experiences.flatMap(({ teacherLogprobs }) => [...teacherLogprobs!]),
          ),
          rewardBaselines: new Float32Array(experiences.length).fill(0.5),
        };
        const batch = make(name, args).batchAdvantage!(input);
        const scored = make(name, args).advantage!(experiences);
        expect([...batch.advantages]).toEqual(
          scored.experiences.flatMap(({ advantages }) => [...advantages!]),
        );
        expect([...batch.returns]).toEqual(
          scored.experiences.flatMap(({ returns }) => [...returns!]),
        );
        expect({ ...scored.metrics, ...batch.metrics }).toEqual(scored.metrics);
      }),
      runs,
    );
  });
});

describe('rec with drop balance', () => {
  const options = { drop: 'balance' };

  it('drops runs below the mean until they are no more than the others, the same ones every time', () => {
    fc.assert(
      fc.property(groups, fc.nat(), (rewards, seed) => {
        const experiences = toExperiences(rewards);
        const by = scores(make('rec', options, seed), experiences);
        expect(by).toEqual(scores(make('rec', options, seed), experiences));
        for (const [task, values] of rewards.entries()) {
          const average = values.reduce((a, b) => a + b) / values.length;
          const below = values.filter((value) => value < average).length;
          const dropped = Math.max(0, 2 * below - values.length);
          const zeros = values.filter(
            (value, index) => value < average && by.get(`0/${task}/${index}/0/`) === 0,
          ).length;
          expect(zeros).toBeGreaterThanOrEqual(dropped);
        }
      }),
      runs,
    );
  });

  it('draws by the seed', () => {
    const experiences = toExperiences([[1, 0, 0.125, 0.25, 0.375, 0.0625]]);
    const picks = new Set(
      [1, 2, 3, 4, 5, 6, 7, 8].map((seed) =>
        [...scores(make('rec', options, seed), experiences).values()].join(),
      ),
    );
    expect(picks.size).toBeGreaterThan(1);
  });
});
