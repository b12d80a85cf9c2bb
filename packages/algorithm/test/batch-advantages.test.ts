import {
  createExperience,
  type Experience,
  InvariantError,
  RewardError,
  withFields,
} from '@trinity-rft/core';
import type { AdvantageInput } from '@trinity-rft/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtInTables, onExperiences, type AdvantageStrategy } from '../src/index.js';

const runs = { numRuns: 100 };
const make = (name: string, args: object = {}): AdvantageStrategy =>
  builtInTables.advantageFns[name]!.make(`advantage function "${name}"`, args, 0);

const number = fc.integer({ min: -64, max: 64 }).map((value) => value / 32);
const token = fc.record({
  trained: fc.boolean(),
  reward: number,
  value: number,
  old: number,
  entropy: number,
  necs: number,
});
const rows = fc.array(fc.array(token, { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 4,
});
type Rows = readonly (readonly {
  trained: boolean;
  reward: number;
  value: number;
  old: number;
  entropy: number;
  necs: number;
}[])[];

function toInput(each: Rows): AdvantageInput {
  const tokens = each.flat();
  const numbers = (field: 'reward' | 'value' | 'entropy' | 'necs'): Float32Array =>
    Float32Array.from(tokens, (item) => item[field]);
  return {
    offsets: Int32Array.from([0, ...each.map((_, i) => each.slice(0, i + 1).flat().length)]),
    actionMask: Uint8Array.from(tokens, ({ trained }) => (trained ? 1 : 0)),
    rewards: numbers('reward'),
    tasks: Int32Array.from(each, (_, i) => i % 2),
    oldLogprobs: Float32Array.from(tokens, ({ old }) => -Math.abs(old)),
    values: numbers('value'),
    entropy: numbers('entropy').map(Math.abs),
    necs: numbers('necs'),
  };
}

/** Sum over all later one-step errors, from the definition: A_t = sum_k (gamma lam)^k delta_(t+k). */
function literalGae(row: Rows[number], gamma: number, lam: number): readonly number[] {
  const delta = (t: number): number =>
    row[t]!.reward + gamma * (row[t + 1]?.value ?? 0) - row[t]!.value;
  return row.map((_, t) =>
    row.slice(t).reduce((sum, _each, k) => sum + (gamma * lam) ** k * delta(t + k), 0),
  );
}

function moments(values: readonly number[]): { mean: number; variance: number } {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return {
    mean,
    variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1),
  };
}

describe('ppo', () => {
  it('returns the sum of discounted errors, written out, plus the value', () => {
    fc.assert(
      fc.property(
        rows,
        fc.constantFrom(0, 0.5, 0.9, 1),
        fc.constantFrom(0, 0.8, 1),
        (each, gamma, lam) => {
          const { returns } = make('ppo', { gamma, lam }).batchAdvantage!(toInput(each));
          const wanted = each.flatMap((row) =>
            literalGae(row, gamma, lam).map((value, t) => value + row[t]!.value),
          );
          wanted.forEach((value, t) => expect(returns[t]).toBeCloseTo(value, 4));
        },
      ),
      runs,
    );
  });

  it('whitens over the trained tokens of the whole batch', () => {
    fc.assert(
      fc.property(rows, (each) => {
        const input = toInput(each);
        const { advantages } = make('ppo').batchAdvantage!(input);
        const trained = [...advantages].filter((_, t) => input.actionMask[t] === 1);
        const raw = each
          .flatMap((row) => literalGae(row, 1, 1))
          .filter((_, t) => input.actionMask[t] === 1);
        if (trained.length < 2 || moments(raw).variance < 1e-3) return;
        expect(moments(trained).mean).toBeCloseTo(0, 4);
        expect(moments(trained).variance).toBeCloseTo(1, 3);
      }),
      runs,
    );
  });

  it('does not see rows of other answers', () => {
    fc.assert(
      fc.property(rows, (each) => {
        const together = make('ppo', { gamma: 0.9, lam: 0.8 }).batchAdvantage!(
          toInput(each),
        ).returns;
        const alone = each.flatMap((row) => [
          ...make('ppo', { gamma: 0.9, lam: 0.8 }).batchAdvantage!(toInput([row])).returns,
        ]);
        expect([...together]).toEqual(alone);
      }),
      runs,
    );
  });

  it('leaves tokens that are not trained out, when asked to', () => {
    fc.assert(
      fc.property(rows, (each) => {
        const input = toInput(each);
        const skipped = make('ppo', { gamma: 0.9, lam: 0.8, skipMasked: true }).batchAdvantage!(
          input,
        ).returns;
        const without = each
          .map((row) =>
            row.flatMap((item, t) => {
              // Adds the rewards of the tokens up to the next trained one.
              const next = row.findIndex((other, u) => u > t && other.trained);
              const reward = row
                .slice(t, next < 0 ? undefined : next)
                .reduce((sum, other) => sum + other.reward, 0);
              return item.trained ? [{ ...item, reward }] : [];
            }),
          )
          .filter((row) => row.length > 0);
        if (without.length === 0) return;
        const wanted = make('ppo', { gamma: 0.9, lam: 0.8 }).batchAdvantage!(
          toInput(without),
        ).returns;
        const trained = [...skipped].filter((_, t) => input.actionMask[t] === 1);
        trained.forEach((value, t) => expect(value).toBeCloseTo(wanted[t]!, 4));
      }),
      runs,
    );
  });

  it('needs a critic, and says so', () => {
    const { values: _, ...without } = toInput([
      [{ trained: true, reward: 1, value: 0, old: -1, entropy: 0, necs: 0 }],
    ]);
    expect(make('ppo').needs).toEqual({ valueHead: true });
    expect(() => make('ppo').batchAdvantage!(without)).toThrow(InvariantError);
  });
});

describe('reinforceplusplus', () => {
  it('discounts, then whitens, and trains nothing that is masked', () => {
    fc.assert(
      fc.property(rows, fc.constantFrom(0, 0.5, 1), (each, gamma) => {
        const input = toInput(each);
        const { advantages, returns } = make('reinforceplusplus', { gamma }).batchAdvantage!(input);
        const wanted = each.flatMap((row) =>
          row.map((_, t) =>
            row.slice(t).reduce((sum, { reward }, k) => sum + gamma ** k * reward, 0),
          ),
        );
        wanted.forEach((value, t) => expect(returns[t]).toBeCloseTo(value, 4));
        expect(
          [...advantages].filter((_, t) => input.actionMask[t] === 0).every((value) => value === 0),
        ).toBe(true);
      }),
      runs,
    );
  });
});

describe.each([
  ['reinforceplusplus', {}],
  ['ppo', {}],
])('%s', (name, args) => {
  it('keeps the only trained token as it is, and does nothing where there is none', () => {
    const item = { reward: 0, value: 0, old: -1, entropy: 0, necs: 0 };
    const [one, none] = [true, false].map((trained) =>
      make(name, args).batchAdvantage!(
        toInput([
          [
            { ...item, trained },
            { ...item, trained: false, reward: 0.5 },
          ],
        ]),
      ),
    );
    expect(one!.advantages[0]).toBe(0.5);
    expect(none!.advantages.every((value) => Number.isFinite(value))).toBe(true);
    expect(none!.metrics).toEqual({});
  });

  it('gives 0 to equal rewards without a value', () => {
    const row = [{ trained: true, reward: 0.1, value: 0, old: -1, entropy: 0, necs: 0 }];
    const { advantages } = make(name, args).batchAdvantage!(toInput([row, row, row]));
    for (const advantage of advantages) expect(advantage).toBeCloseTo(0, 6);
  });
});

describe('jsd', () => {
  const softmax = (logits: readonly number[]): readonly number[] => {
    const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
    return logits.map((logit) => Math.exp(logit) / sum);
  };
  /**
   * b KL(T || M) + (1 - b) KL(S || M), divided by b (1 - b); the limits at 0 and 1 are the two KL
   * divergences.
   */
  const divergence = (s: readonly number[], t: readonly number[], b: number): number => {
    const kl = (p: readonly number[], q: readonly number[]): number =>
      p.reduce((sum, x, v) => sum + x * Math.log(x / q[v]!), 0);
    if (b === 0) return kl(t, s);
    if (b === 1) return kl(s, t);
    const m = s.map((x, v) => (1 - b) * x + b * t[v]!);
    return (b * kl(t, m) + (1 - b) * kl(s, m)) / (b * (1 - b));
  };
  const logits = fc.array(number, { minLength: 4, maxLength: 4 });

  it('with form gradient is the policy gradient of the divergence', () => {
    fc.assert(
      fc.property(logits, logits, fc.constantFrom(0, 0.25, 0.5, 0.9, 1), (student, teacher, b) => {
        const [s, t] = [softmax(student), softmax(teacher)];
        const { advantages } = make('jsd', { lambdaCoef: b, form: 'gradient' }).batchAdvantage!({
          offsets: Int32Array.of(0, 4),
          actionMask: new Uint8Array(4).fill(1),
          rewards: new Float32Array(4),
          tasks: Int32Array.of(0),
          oldLogprobs: Float32Array.from(s, Math.log),
          teacherLogprobs: Float32Array.from(t, Math.log),
        });
        // d/dlogit_k of the expectation of A log s over samples of s is sum_v s_v A_v ([v = k] -
        // s_k).
        const policyGradient = student.map((_, k) =>
          s.reduce((sum, p, v) => sum + p * advantages[v]! * ((v === k ? 1 : 0) - s[k]!), 0),
        );
        const h = 1e-4;
        for (const [k, wanted] of policyGradient.entries()) {
          const moved = (by: number): number =>
            divergence(softmax(student.map((logit, v) => (v === k ? logit + by : logit))), t, b);
          expect(-(moved(h) - moved(-h)) / (2 * h)).toBeCloseTo(wanted, 4);
        }
      }),
      runs,
    );
  });

  it.each(['sampled', 'original', 'gradient'])(
    'with form %s is finite for probabilities that are far apart',
    (form) => {
      for (const b of [0, 0.5, 1]) {
        const { advantages } = make('jsd', { lambdaCoef: b, form }).batchAdvantage!({
          offsets: Int32Array.of(0, 2),
          actionMask: new Uint8Array(2).fill(1),
          rewards: new Float32Array(2),
          tasks: Int32Array.of(0),
          oldLogprobs: Float32Array.of(-800, 0),
          teacherLogprobs: Float32Array.of(0, -800),
        });
        expect(advantages.every((value) => Number.isFinite(value))).toBe(true);
      }
    },
  );

  it('at lambda_coef 1 pulls towards the teacher, unless asked to do as Trinity-RFT does', () => {
    const input: AdvantageInput = { ...toInput([]), ...one(-1, -0.5) };
    expect(make('jsd', { lambdaCoef: 1 }).batchAdvantage!(input).advantages[0]).toBe(0.5);
    expect(
      make('jsd', { lambdaCoef: 1, form: 'original' }).batchAdvantage!(input).advantages[0],
    ).toBe(-0.5);
  });
});

const one = (student: number, teacher: number): AdvantageInput => ({
  offsets: Int32Array.of(0, 1),
  actionMask: Uint8Array.of(1),
  rewards: Float32Array.of(0),
  tasks: Int32Array.of(0),
  oldLogprobs: Float32Array.of(student),
  teacherLogprobs: Float32Array.of(teacher),
});

describe.each(['on_policy_distill', 'jsd'])('%s', (name) => {
  const call = createExperience({
    tokens: [1, 2, 3],
    promptLength: 1,
    logprobs: [-1, -2],
    eid: { batch: 0, task: 0, run: 0 },
  });

  it('needs a teacher and no rewards', () => {
    expect(make(name).needs).toEqual({ teacherLogprobs: true });
    const scored = make(name).advantage!([
      withFields(call, { teacherLogprobs: Float32Array.of(-0.5, -2) }),
    ]);
    expect(scored.experiences[0]!.advantages![0]).toBeGreaterThan(0);
    expect(scored.experiences[0]!.advantages![1]).toBeCloseTo(0, 6);
    expect(() => make(name).advantage!([scored.experiences[0]!, call])).toThrow(
      'Experience 0/0/0/0/ has no log-probabilities of a teacher',
    );
    expect(() => make(name).advantage!([call])).toThrow(RewardError);
  });
});

describe('remax', () => {
  it('takes the reward of the greedy answer off the returns of trained tokens', () => {
    const { advantages, returns } = make('remax').batchAdvantage!({
      offsets: Int32Array.of(0, 3, 5),
      actionMask: Uint8Array.of(1, 0, 1, 1, 1),
      rewards: Float32Array.of(0, 0.5, 1, 0, 2),
      tasks: Int32Array.of(0, 1),
      oldLogprobs: new Float32Array(5),
      rewardBaselines: Float32Array.of(0.5, 1),
    });
    expect([...returns]).toEqual([1.5, 1.5, 1, 2, 2]);
    expect([...advantages]).toEqual([1, 1.5, 0.5, 1, 1]);
  });

  it('names the experience whose greedy answer has no reward', () => {
    const call = createExperience({
      tokens: [1, 2],
      promptLength: 1,
      reward: 1,
      eid: { batch: 0, task: 7, run: 1 },
    });
    expect(() => make('remax').advantage!([call])).toThrow(
      'Experience 0/7/1/0/ has no info.reward_baseline',
    );
    expect(() => make('remax').advantage!([call])).toThrow(RewardError);
  });
});

describe.each(['clipb', 'clipv'])('%s', (name) => {
  it('only ever takes out trained tokens of negative advantage', () => {
    fc.assert(
      fc.property(rows, fc.constantFrom(0, 0.5, 2), (each, mu) => {
        const input = toInput(each);
        const { advantages, actionMask, metrics } = make(name, { mu }).batchAdvantage!(input);
        let taken = 0;
        actionMask!.forEach((bit, t) => {
          if (bit === input.actionMask[t]) return;
          taken++;
          expect([bit, advantages[t]! < 0]).toEqual([0, true]);
        });
        const trained = input.actionMask.reduce((a, b) => a + b, 0);
        expect(metrics['frac_clipped']).toBeCloseTo(trained === 0 ? 0 : taken / trained, 10);
        expect([...input.actionMask]).toEqual([...toInput(each).actionMask]);
      }),
      runs,
    );
  });

  it('takes nothing out where all tokens are alike', () => {
    const row = [0, 1, 2].map(() => ({
      trained: true,
      reward: 0,
      value: 0,
      old: -1,
      entropy: 1,
      necs: 1,
    }));
    const better = row.map((item) => ({ ...item, reward: 1 }));
    const { actionMask } = make(name, { mu: 0.5 }).batchAdvantage!({
      ...toInput([row, better]),
      tasks: Int32Array.of(0, 0),
    });
    expect([...actionMask!]).toEqual([1, 1, 1, 1, 1, 1]);
  });
});

describe('clipv', () => {
  it('takes out no more negative tokens than its largest share, and at least one', () => {
    const row = [5, 4, 3, 2, 1, 0].map((necs) => ({
      trained: true,
      reward: -1,
      value: 0,
      old: -1,
      entropy: 1,
      necs,
    }));
    const better = row.map((item) => ({ ...item, reward: 1, necs: 0 }));
    const kept = (maxFrac: number): readonly number[] => [
      ...make('clipv', { mu: 0.1, maxFrac }).batchAdvantage!({
        ...toInput([row, better]),
        tasks: Int32Array.of(0, 0),
      }).actionMask!,
    ];
    expect(kept(0).slice(0, 6)).toEqual([0, 1, 1, 1, 1, 1]);
    expect(kept(0.17).slice(0, 6)).toEqual([0, 0, 1, 1, 1, 1]);
  });

  it('keeps the tokens of a group without an advantage', () => {
    const row = [5, 4, 3].map((necs) => ({
      trained: true,
      reward: 1,
      value: 0,
      old: -1,
      entropy: 1,
      necs,
    }));
    const { actionMask, metrics } = make('clipv', { mu: 0.1 }).batchAdvantage!({
      ...toInput([row, row]),
      tasks: Int32Array.of(0, 0),
    });
    expect([...actionMask!]).toEqual([1, 1, 1, 1, 1, 1]);
    expect(metrics['frac_clipped']).toBe(0);
  });

  it('declares what the engine must report', () => {
    expect(make('clipv').needs).toEqual({ entropy: 'value', necs: true });
    expect(make('clipb').needs).toEqual({ entropy: 'value' });
  });
});

describe('a function over packed tokens, on experiences', () => {
  const trajectory: Experience = {
    ...createExperience({
      tokens: [9, 1, 2, 8, 8, 3, 4, 5],
      promptLength: 1,
      actionMask: [1, 1, 0, 0, 1, 1, 1],
      logprobs: [-1, -2, 0, 0, -3, -4, -5],
      reward: 2,
      eid: { batch: 0, task: 1, run: 0, step: 1 },
    }),
    spans: [
      { start: 0, end: 2, step: 0, policyVersion: 0, reward: 1 },
      { start: 4, end: 7, step: 1, policyVersion: 0 },
    ],
  };
  const call = createExperience({
    tokens: [9, 1, 2],
    promptLength: 1,
    actionMask: [1, 0],
    logprobs: [-1, 0],
    reward: 3,
    eid: { batch: 0, task: 0, run: 0 },
  });

  it('sees each call as a row, with its reward on its last token', () => {
    let seen: AdvantageInput | undefined;
    const { experiences } = onExperiences((input) => {
      seen = input;
      const advantages = Float32Array.from(input.rewards, (_, t) => t + 1);
      return { advantages, returns: advantages, metrics: {} };
    })([trajectory, call]);
    expect(seen).toMatchObject({
      offsets: Int32Array.of(0, 2, 5, 7),
      actionMask: Uint8Array.of(1, 1, 1, 1, 1, 1, 0),
      rewards: Float32Array.of(0, 1, 0, 0, 2, 0, 3),
      tasks: Int32Array.of(0, 0, 1),
      runs: Int32Array.of(0, 0, 1),
      steps: Int32Array.from([...trajectory.spans!, ...[call.eid]], ({ step }) => step),
      runRewards: Float32Array.of(1, 2, 3),
      oldLogprobs: Float32Array.of(-1, -2, -3, -4, -5, -1, 0),
    });
    expect([...experiences[0]!.advantages!]).toEqual([1, 2, 0, 0, 3, 4, 5]);
    expect([...experiences[1]!.advantages!]).toEqual([6, 7]);
  });

  it('leaves an experience without calls at 0', () => {
    const silent: Experience = { ...call, actionMask: Uint8Array.of(0, 0), spans: [] };
    const { experiences } = onExperiences(({ rewards }) => ({
      advantages: rewards,
      returns: rewards,
      metrics: {},
    }))([silent, call]);
    expect(experiences.map(({ advantages }) => [...advantages!])).toEqual([
      [0, 0],
      [0, 3],
    ]);
  });

  it('takes token rewards where there are some, and a changed mask', () => {
    const { experiences } = onExperiences(({ rewards, actionMask }) => ({
      advantages: rewards,
      returns: rewards,
      actionMask: actionMask.map((bit, t) => (t === 0 ? 0 : bit)),
      metrics: { found: 1 },
    }))([withFields(call, { tokenRewards: Float32Array.of(0.5, 0.25) }), trajectory]);
    expect([...experiences[0]!.advantages!]).toEqual([0.5, 0.25]);
    expect(experiences.map(({ actionMask }) => [...actionMask])).toEqual([
      [0, 0],
      [1, 1, 0, 0, 1, 1, 1],
    ]);
    expect([...call.actionMask]).toEqual([1, 0]);
  });

  it('names the experience without a reward', () => {
    const { reward: _, ...silent } = call;
    expect(() =>
      onExperiences(({ rewards }) => ({ advantages: rewards, returns: rewards, metrics: {} }))([
        silent,
      ]),
    ).toThrow('Experience 0/0/0/0/ has no reward');
  });
});

it('the reward of a rollout is that of its last step, wherever the row of that step is', () => {
  const rewards = Float32Array.of(0, 1, 0, 0);
  const { advantages } = make('rloo').batchAdvantage!({
    offsets: Int32Array.of(0, 1, 2, 3, 4),
    actionMask: Uint8Array.of(1, 1, 1, 1),
    oldLogprobs: new Float32Array(4),
    tasks: new Int32Array(4),
    runs: Int32Array.of(0, 0, 0, 1),
    // Merging puts steps 0 and 2, which continue each other, before step 1.
    steps: Int32Array.of(0, 2, 1, 0),
    rewards,
    runRewards: rewards,
  });
  expect([...advantages]).toEqual([1, 1, 1, -1]);
});
