import { ConfigError, createExperience, numberArg, type LossInput } from '@trinity-rft/core';
import type { Algorithm } from '@trinity-rft/core/internal';
import { describe, expect, it } from 'vitest';
import { builtInTables, byGroup, createAlgorithm } from '../index.js';
import { aggregateLoss } from '../../test/batches.js';
import {
  defineAdvantage,
  defineAlgorithm,
  defineOperator,
  definePolicyLoss,
  isAlgorithmPlugin,
} from './definitions.js';
import { extendTables } from './extend-tables.js';
import type { TokenLoss, TokenQuantities, TokenResult } from '../parts/token-loss.js';

/** Rewards above the median of the task. */
const median = defineAdvantage({
  name: 'median',
  args: { scale: numberArg(1, { above: 0 }, 'Multiplies the advantages.') },
  create: ({ scale }) =>
    byGroup(({ rewards }) => {
      const middle = rewards.toSorted((a, b) => a - b)[Math.floor(rewards.length / 2)]!;
      return {
        scores: rewards.map((reward) => scale * (reward - middle)),
        metrics: { median: middle },
      };
    }),
});

const plainGradient = definePolicyLoss({
  name: 'plain_gradient',
  batch: (input, _, weights) => ({
    loss: -aggregateLoss(
      input.currentLogprobs.map((x, t) => x * input.advantages[t]!),
      weights,
    ),
    gradLogprobs: weights.map((weight, t) => -weight * input.advantages[t]!),
    metrics: {},
  }),
});

const mine = defineAlgorithm({
  name: 'median_gradient',
  repeatTimes: 5,
  advantageFn: median,
  policyLossFn: plainGradient,
  klLossFn: { name: 'none' },
  operators: [
    'reward_filter',
    defineOperator({
      name: 'everything',
      create: () => (experiences) => ({ experiences, metrics: {} }),
    }),
  ],
});

describe('definitions of plugins', () => {
  it('make an algorithm of one file and one name', () => {
    const tables = extendTables(builtInTables, [mine]);
    const preset = tables.presets['median_gradient']!;
    expect(preset).toMatchObject({
      repeatTimes: 5,
      schema: 'experience',
      lossAggMode: 'token-mean',
      sampleStrategy: { name: 'default' },
    });
    const { advantage, loss, needs } = createAlgorithm(
      { ...preset, lossAggNorm: undefined },
      { tables },
    );
    const experiences = [0, 1, 5].map((reward, run) =>
      createExperience({
        tokens: [1, 2],
        promptLength: 1,
        reward,
        eid: { batch: 0, task: 0, run },
      }),
    );
    const scored = advantage!(experiences);
    expect(scored.experiences.map(({ advantages }) => advantages![0])).toEqual([-1, 0, 4]);
    expect(scored.metrics['group_advantages/median/mean']).toBe(1);
    const input: LossInput = {
      offsets: Int32Array.of(0, 1),
      actionMask: Uint8Array.of(1),
      currentLogprobs: Float32Array.of(-2),
      oldLogprobs: Float32Array.of(-2),
      advantages: Float32Array.of(3),
      entropy: Float32Array.of(0),
      step: 1,
    };
    expect(loss(input).loss).toBeCloseTo(6, 6);
    expect([...loss(input).gradLogprobs]).toEqual([expect.closeTo(-3, 6)]);
    expect(needs).toMatchObject({ rollouts: true, referenceLogprobs: false });
    expect(Object.keys(tables.operators)).toEqual(
      expect.arrayContaining(['reward_filter', 'everything']),
    );
  });

  it('make a loss of a formula over tokens, which agrees with the same loss over a batch', () => {
    const byToken = definePolicyLoss({
      name: 'by_token',
      lossMetric: 'by_token',
      tokenMeans: ['share'],
      prepare: ({ actionMask }) => ({ tokens: actionMask.length }),
      token: ({ logprob: x, advantage: A }, out) => {
        out.loss = -A * x;
        out.gradient = -A;
        out.sums.share += 1;
      },
      metrics: ({ tokens }) => ({ tokens }),
    });
    const tables = extendTables(builtInTables, [byToken, plainGradient]);
    const lossOf = (name: string, args = {}): ReturnType<Algorithm['loss']> =>
      createAlgorithm(
        { advantageFn: { name: 'grpo' }, policyLossFn: { name, args }, klLossFn: { name: 'k2' } },
        { tables },
      ).loss({
        offsets: Int32Array.of(0, 3, 4),
        actionMask: Uint8Array.of(1, 0, 1, 1),
        currentLogprobs: Float32Array.of(-2, NaN, -1, -3),
        oldLogprobs: Float32Array.of(-2, -9, -1, -2),
        refLogprobs: Float32Array.of(-2, -9, -2, -1),
        advantages: Float32Array.of(3, 0, 2, -1),
        step: 1,
      });
    for (const args of [{}, { lossAggMode: 'seq-mean-token-mean' }]) {
      const [formula, whole] = [lossOf('by_token', args), lossOf('plain_gradient', args)];
      expect(formula.loss).toBeCloseTo(whole.loss, 12);
      // Float32: the gradients of a batch are rounded before the KL's are added.
      formula.gradLogprobs.forEach((gradient, t) =>
        expect(gradient).toBeCloseTo(whole.gradLogprobs[t]!, 6),
      );
      expect(formula.metrics['tokens']).toBe(4);
      expect(formula.metrics['share']).toBeCloseTo(1, 7);
    }
  });

  it('reject a policy loss without a formula', () => {
    const empty = { name: 'empty', lossMetric: 'loss' } as unknown as Parameters<
      typeof definePolicyLoss
    >[0];
    expect(() => definePolicyLoss(empty)).toThrow(
      'The policy loss "empty" has neither `token` nor `batch`.',
    );
  });

  it('are read with their arguments like built-in parts', () => {
    const tables = extendTables(builtInTables, [median]);
    const wrong = {
      advantageFn: { name: 'median', args: { scale: 0 } },
      policyLossFn: { name: 'ppo' },
    };
    expect(() => createAlgorithm(wrong, { tables })).toThrow(
      'The argument "scale" of advantage function "median" is 0; expected a number > 0.',
    );
  });

  it('must compute something', () => {
    const tables = extendTables(builtInTables, [
      defineAdvantage({ name: 'nothing', create: () => ({}) }),
    ]);
    const empty = { advantageFn: { name: 'nothing' }, policyLossFn: { name: 'ppo' } };
    expect(() => createAlgorithm(empty, { tables })).toThrow(
      '"nothing" defines neither `advantage` nor `batchAdvantage`.',
    );
  });

  it('leave the tables that they extend alone', () => {
    extendTables(builtInTables, [mine]);
    expect(Object.keys(builtInTables.presets)).not.toContain('median_gradient');
    expect(Object.keys(builtInTables.advantageFns)).not.toContain('median');
  });

  it('count once where a part is exported with the algorithm that brings it', () => {
    expect(
      Object.keys(extendTables(builtInTables, [median, mine, plainGradient]).advantageFns),
    ).toContain('median');
  });

  it('are distinguished from other exports', () => {
    expect(
      [mine, median, plainGradient, { kind: 'trinity-rft.workflow', name: 'x' }, null, 'text'].map(
        isAlgorithmPlugin,
      ),
    ).toEqual([true, true, true, false, false, false]);
  });

  it.each([
    [
      'a built-in name',
      () => [defineAdvantage({ name: 'grpo', create: () => ({}) })],
      'The advantage function "grpo" already exists.',
    ],
    [
      'a name twice',
      () => [median, defineAdvantage({ name: 'median', create: () => ({}) })],
      'The advantage function "median" is defined twice.',
    ],
    [
      'a part that does not exist',
      () => [defineAlgorithm({ name: 'broken', policyLossFn: 'pppo' })],
      'There is no policy loss of algorithm "broken": "pppo". Did you mean "ppo"?',
    ],
    [
      'a name that YAML cannot hold',
      () => [defineAlgorithm({ name: 'a b' })],
      'Algorithm name "a b" is invalid.',
    ],
    [
      'a setting by its name in YAML',
      () => [defineAlgorithm({ name: 'mine', policy_loss_fn: 'opmd' } as never)],
      'Algorithm "mine" has no option "policy_loss_fn". Did you mean "policyLossFn"?',
    ],
    [
      'an option that does not exist',
      () => [defineAdvantage({ name: 'mine', arsg: {}, create: () => ({}) } as never)],
      'Advantage function "mine" has no option "arsg". Did you mean "args"?',
    ],
    [
      'an option of a loss that does not exist',
      () => [definePolicyLoss({ name: 'mine', need: {}, token: () => {} } as never)],
      'Policy loss "mine" has no option "need". Did you mean "needs"?',
    ],
    [
      'a name that YAML reads as a number',
      () => [defineAlgorithm({ name: '1' })],
      'Algorithm name "1" is invalid. Begin it with a letter',
    ],
  ])('reject %s', (_what, definitions, message) => {
    expect(() => extendTables(builtInTables, definitions())).toThrow(message);
    expect(() => extendTables(builtInTables, definitions())).toThrow(ConfigError);
  });
});

describe('results of plugins', () => {
  const experiences = [0, 1].map((run) =>
    createExperience({
      tokens: [1, 2, 3],
      promptLength: 1,
      reward: run,
      eid: { run },
      policyVersion: 0,
      temperature: 1,
    }),
  );
  const apply = (result: (given: typeof experiences) => unknown) =>
    defineOperator({ name: 'mine', create: () => result as never }).row.make('x', {})(experiences);

  it('are copies, and what an operator edits in place stays its own', () => {
    const { experiences: out } = apply((given) => {
      given[0]!.tokens[0] = 9;
      (given[0]!.info as Record<string, unknown>)['mine'] = true;
      return { experiences: given };
    });
    expect([out[0]!.tokens[0], out[0]!.info['mine']]).toEqual([9, true]);
    expect([experiences[0]!.tokens[0], experiences[0]!.info]).toEqual([1, {}]);
  });

  it.each([
    [undefined, 'Operator "mine" returned nothing; expected { experiences, metrics }.'],
    [Promise.resolve(), 'Operator "mine" returned a Promise that was not awaited; expected'],
    [[], 'Operator "mine" returned []; expected { experiences, metrics }.'],
    [{ experiences: 3 }, 'Operator "mine" returned 3; expected a list as experiences.'],
    [
      { experiences: [{}] },
      'returned {}; expected an experience, as createExperience makes it, with an eid',
    ],
    [{ experiences: [experiences[0], experiences[0]] }, 'each experience once'],
    [
      { experiences: [{ ...experiences[0], reward: NaN }] },
      'Operator "mine" returned what cannot be used. Experience //0/0/: reward is NaN; expected a finite number.',
    ],
    [{ experiences, metrics: { a: 'b' } }, 'for the metric "a"'],
  ])('of an operator are refused by name: %#', (value, message) => {
    expect(() => apply(() => value)).toThrow(message);
  });

  it('name the function that threw, and a maker that returned no function', () => {
    expect(() =>
      apply(() => {
        throw new TypeError('oops');
      }),
    ).toThrow('Operator "mine" threw: oops');
    expect(() =>
      defineOperator({ name: 'mine', create: () => 7 as never }).row.make('x', {}),
    ).toThrow('The create function of Operator "mine" returned 7; expected a function.');
    expect(() =>
      defineAdvantage({ name: 'mine', create: () => null as never }).row.make('x', {}, 0),
    ).toThrow('The create function of Advantage function "mine" returned null');
  });

  it('may lack metrics', () => {
    const part = defineAdvantage({
      name: 'mine',
      create: () => ({ advantage: (given) => ({ experiences: given }) as never }),
    });
    expect(part.row.make('x', {}, 0).advantage?.(experiences)).toEqual({
      experiences,
      metrics: {},
    });
  });

  it('name the create function that threw', () => {
    const create = (): never => {
      throw new TypeError('oops');
    };
    for (const make of [
      () => defineOperator({ name: 'mine', create }).row.make('x', {}),
      () => defineAdvantage({ name: 'mine', create }).row.make('x', {}, 0),
    ])
      expect(make).toThrow(/^The create function of .* "mine" threw: oops$/);
  });

  it.each([
    [{ scores: [1], metrics: {} }, 'returned [ 1 ] as scores; expected 2 finite'],
    [{ scores: [1, NaN], metrics: {} }, 'returned [ 1, NaN ] as scores'],
    [Promise.resolve(), 'a Promise that was not awaited; expected { scores, metrics }'],
    [[1, 2], 'returned [ 1, 2 ]; expected { scores, metrics }.'],
  ])('of byGroup are refused: %#', (value, message) => {
    const { row } = defineAdvantage({ name: 'mine', create: () => byGroup(() => value as never) });
    const { advantage } = row.make('x', {}, 0);
    expect(() => advantage!(experiences)).toThrow(/^Advantage function "mine" threw: /);
    expect(() => advantage!(experiences)).toThrow(message);
  });

  it('of byGroup may lack metrics, and be typed arrays', () => {
    const create = () => byGroup(() => ({ scores: Float32Array.of(1, 2) }) as never);
    const { advantage } = defineAdvantage({ name: 'mine', create }).row.make('x', {}, 0);
    expect(advantage!(experiences).experiences.map((one) => one.advantages![0])).toEqual([1, 2]);
  });

  const lossOf = (options: object, batches = 1) => {
    const algorithm = createAlgorithm(
      { advantageFn: { name: 'grpo' }, policyLossFn: { name: 'mine' } },
      {
        tables: extendTables(builtInTables, [
          definePolicyLoss({ name: 'mine', ...options } as never),
        ]),
      },
    );
    const input = {
      step: 1,
      offsets: Int32Array.of(0, 2),
      actionMask: Uint8Array.of(1, 1),
      currentLogprobs: Float32Array.of(-1, -1),
      oldLogprobs: Float32Array.of(-1, -1),
      advantages: Float32Array.of(1, 1),
      refLogprobs: Float32Array.of(-1, -1),
      entropy: Float32Array.of(1, 1),
    };
    for (let i = 1; i < batches; i++) algorithm.loss(input);
    return algorithm.loss(input);
  };
  const loss = (result: unknown) => lossOf({ batch: () => result });

  it.each([
    [undefined, 'Policy loss "mine" returned nothing'],
    [{ loss: '1', gradLogprobs: [0, 0] }, 'Policy loss "mine" returned \'1\' as loss'],
    [
      { loss: 1, gradLogprobs: new Float32Array(3) },
      'a Float32Array as gradLogprobs; expected 2 numbers, one per token, instead of 3.',
    ],
  ])('of a loss are refused by name: %#', (value, message) => {
    expect(() => loss(value)).toThrow(message);
  });

  const readsEntropy = ({ entropy }: TokenQuantities) => void entropy;

  it.each([
    [
      () => ({ loss: 1, gradient: 1 }),
      'returned { loss: 1, gradient: 1 }; expected nothing: `token` sets',
    ],
    [async () => {}, 'returned a Promise that was not awaited; expected nothing'],
    [
      (_token: object, out: TokenResult) => void (out.gradient = NaN),
      'gradient: NaN, entropyGradient: 0, sums: {} }; expected finite numbers. The token was { index: 0, logprob: -1,',
    ],
    [
      (_token: object, out: TokenResult) => void (out.entropyGradient = 1),
      "set out.entropyGradient; define it with entropy: 'gradient' in needs.",
    ],
    [
      () => {
        throw new TypeError('oops');
      },
      'threw: oops',
    ],
    [readsEntropy, "needs: { rollouts: true, entropy: 'value' }."],
    [
      ({ refLogRatio }: TokenQuantities) => void refLogRatio,
      'reads `refLogRatio`, which it does not declare. Define it with needs: { rollouts: true, referenceLogprobs: true }.',
    ],
  ])('of a formula are refused by name: %#', (token, message) => {
    expect(() => lossOf({ lossMetric: 'l', token })).toThrow('Policy loss "mine" ');
    expect(() => lossOf({ lossMetric: 'l', token })).toThrow(message);
  });

  it('cannot depend on quantities that `needs` leaves out', () => {
    const token = ({ advantage }: TokenQuantities) => void advantage;
    const needs = { entropy: 'value' };
    expect(() => lossOf({ needs, lossMetric: 'l', token })).toThrow(
      "reads `advantage`, which it does not declare. Define it with needs: { entropy: 'value', rollouts: true }.",
    );
    expect(() =>
      lossOf({ needs: { entropy: 'metric' }, lossMetric: 'l', token: readsEntropy }),
    ).toThrow("needs: { entropy: 'value' }.");
  });

  it('may test for columns of the batch that `needs` leaves out', () => {
    const prepare = ({ refLogprobs }: LossInput) => (refLogprobs ? 2 : 3);
    const token = (_token: object, out: TokenResult, state: number) => void (out.gradient = state);
    expect(lossOf({ lossMetric: 'l', token, prepare }).gradLogprobs[0]).toBe(1);
    const batch = (input: LossInput) => ({ loss: prepare(input), gradLogprobs: [0, 0] });
    expect(lossOf({ batch }).loss).toBe(2);
  });

  it('says what an advantage function compares, and how many rollouts it leaves', () => {
    const create = () => ({});
    const { row } = defineAdvantage({
      name: 'mine',
      comparesRuns: false,
      keeps: () => 'one',
      create,
    });
    expect([row.comparesRuns({}), row.keeps({})]).toEqual([false, 'one']);
    const { row: other } = defineAdvantage({ name: 'other', create });
    expect([other.comparesRuns({}), other.keeps({})]).toEqual([true, 'some']);
  });

  it('keeps state of a loss across batches', () => {
    const constants = () => ({ batches: 0 });
    const prepare = (_input: LossInput, state: { batches: number }) => {
      state.batches++;
      return state;
    };
    const token = (_token: object, out: TokenResult, state: { batches: number }) =>
      void (out.gradient = state.batches);
    const { gradLogprobs } = lossOf({ lossMetric: 'l', constants, prepare, token }, 3);
    expect([...gradLogprobs]).toEqual([1.5, 1.5]);
  });

  it.each([
    (token: TokenQuantities, out: TokenResult) => (out.gradient = -token.advantage),
    (token: TokenQuantities, out: TokenResult) => ({
      ...Object.assign(out, { gradient: -token.advantage }),
    }),
    (token: TokenQuantities, out: TokenResult) => {
      token.advantage *= -1;
      out.gradient = token.advantage;
    },
  ])('takes formulas that return a copy of `out` or a number, or change the token: %#', (token) => {
    const options = { batch: undefined, lossMetric: 'l', token, row: () => 1 };
    expect([...lossOf(options).gradLogprobs]).toEqual([-0.5, -0.5]);
  });

  it('of `wrap` are checked, and may copy the token', () => {
    const token = ({ advantage, logprob, row }: TokenQuantities, out: TokenResult) =>
      void (out.gradient = advantage * logprob * row.trained);
    const wrapped = (wrap: (loss: TokenLoss) => TokenLoss['token']) => () =>
      lossOf({
        lossMetric: 'l',
        token,
        wrap: (loss: TokenLoss) => ({ ...loss, token: wrap(loss) }),
      });
    const { gradLogprobs } = wrapped((loss) => (given, out, state) => {
      loss.token({ ...given, advantage: 4 }, out, state);
    })();
    expect([...gradLogprobs]).toEqual([-4, -4]);
    expect(wrapped(() => () => ({ loss: 1 }))).toThrow('returned { loss: 1 }; expected nothing');
    expect(wrapped(() => readsEntropy)).toThrow('reads `entropy`');
  });

  it('of `wrap` keep their own object, and the state as it is', () => {
    const state = { rows: 0 };
    const wrap = (loss: TokenLoss) => ({
      ...loss,
      share: 3,
      row(_row: object, _out: object, given: typeof state) {
        given.rows += this.share;
      },
      metrics(given: object) {
        return { share: this.share, rows: state.rows, same: given === state };
      },
    });
    const { metrics } = lossOf({ lossMetric: 'l', token: () => {}, prepare: () => state, wrap });
    expect(metrics).toMatchObject({ share: 3, rows: 3, same: 1 });
    const row = async () => {};
    expect(() => lossOf({ lossMetric: 'l', token: () => {}, row })).toThrow('a Promise');
  });
});
