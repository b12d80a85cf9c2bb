import type { AdvantageInput, LossInput } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import {
  aggregateLoss,
  aggregationWeights,
  createAlgorithm,
  entropyLossFns,
  klLossFns,
  policyLossFns,
  type LossAggMode,
} from '../src/index.js';
import { klEstimators } from '../src/kl/estimators.js';
import { trustMask } from '../src/policy-losses/m2po-mask.js';
import { muAt, type MuSchedule } from '../src/policy-losses/mix-chord.js';
import { valueLoss } from '../src/value-losses/value-loss.js';
import { evaluate } from './evaluate.js';
import { expectClose, expectMetrics, readVectors } from './support.js';
import { camelCased, toLossInput, type InputVectors, type Matrix } from './vector-inputs.js';

type Numbers = Readonly<Record<string, number>>;

interface TokenVector {
  readonly log_ratio: Matrix | string;
  readonly advantages: Matrix;
  readonly action_mask: Matrix;
}

interface Vectors {
  readonly tolerance: number;
  readonly inputs: Readonly<Record<string, InputVectors>>;
  readonly policy_loss: readonly {
    readonly id: string;
    readonly fn: keyof typeof policyLossFns;
    readonly args: { readonly loss_agg_mode?: LossAggMode } & Readonly<Record<string, unknown>>;
    readonly input: string;
    readonly expect: { readonly loss: number; readonly metrics: Numbers };
    readonly grad_logprob_run: Matrix;
  }[];
  readonly kl: readonly {
    readonly id: string;
    readonly fn: keyof typeof klLossFns;
    readonly kl_coef: number;
    readonly input: string;
    readonly with_old_logprob: boolean;
    readonly kl: Matrix;
    readonly kl_loss: Readonly<
      Record<LossAggMode, { readonly loss: number; readonly metrics: Numbers }>
    >;
    readonly grad_token_mean?: Matrix;
  }[];
  readonly kl_penalty_in_reward: {
    readonly token_level_scores: Matrix;
    readonly cases: readonly {
      readonly fn: keyof typeof klLossFns;
      readonly kl_coef: number;
      readonly token_level_rewards: Matrix;
      readonly metrics: Numbers;
    }[];
  };
  readonly entropy_loss: readonly {
    readonly fn: keyof typeof entropyLossFns;
    readonly entropy_coef: number;
    readonly loss_agg_mode: LossAggMode;
    readonly loss: number;
    readonly metrics: Numbers;
  }[];
  readonly aggregate_loss: readonly {
    readonly mode: LossAggMode;
    readonly normalizer?: number;
    readonly value: number;
  }[];
  readonly chord_mu_schedule: {
    readonly args: Numbers;
    readonly cases: readonly { readonly step: number; readonly mu: number }[];
    readonly zero_steps: {
      readonly args: readonly [number, number, number, number];
      readonly step: number;
      readonly mu: number;
    };
  };
  readonly critic_value_loss: readonly {
    readonly V: number;
    readonly V_old: number;
    readonly R: number;
    readonly c: number;
    readonly loss: number;
    readonly grad_V: number;
    readonly grad_without_clip?: number;
  }[];
  readonly m2po_mask: readonly (TokenVector & {
    readonly threshold: number;
    readonly mask: Matrix;
    readonly m2_before?: number;
    readonly m2_after?: number;
    readonly masked_fraction?: number;
  })[];
}

const vectors = readVectors<Vectors>('losses');
const { tolerance } = vectors;
const inputOf = (name: string): ReturnType<typeof toLossInput> =>
  toLossInput(vectors.inputs[name]!);
const small = inputOf('small_4x5');

describe('policy losses of the original', () => {
  it.each(vectors.policy_loss)(
    '$id: loss, metrics and gradient',
    ({ fn, args: { loss_agg_mode: lossAggMode, ...args }, input, ...expected }) => {
      const { rollouts } = policyLossFns[fn].make(fn, {}).needs;
      const algorithm = createAlgorithm({
        policyLossFn: { name: fn, args: camelCased(args) },
        lossAggMode,
        ...(rollouts && { advantageFn: { name: 'grpo' } }),
      });
      const { loss, gradLogprobs, metrics } = algorithm.loss(inputOf(input));
      expectClose([loss], [expected.expect.loss], tolerance);
      expectMetrics(
        metrics,
        { ...expected.expect.metrics, final_loss: expected.expect.loss },
        tolerance,
      );
      expectClose(gradLogprobs, expected.grad_logprob_run.flat(), tolerance);
    },
  );
});

describe('KL losses of the original', () => {
  it.each(vectors.kl)(
    '$id: token values, losses in every mode, gradient',
    ({ fn, kl_coef: klCoef, input: name, with_old_logprob: rollouts, ...expected }) => {
      const input = inputOf(name);
      const part = klLossFns[fn].make(`KL loss "${fn}"`, { klCoef });
      const needs = { rollouts };
      for (const [mode, { loss, metrics }] of Object.entries(expected.kl_loss) as [
        LossAggMode,
        { loss: number; metrics: Numbers },
      ][]) {
        const output = (part && evaluate(part, input, { mode, needs })) ?? {
          loss: 0,
          metrics: {},
        };
        expect(output.loss).toBeCloseTo(loss, 7);
        expectMetrics(output.metrics, metrics, tolerance);
      }
      const out = { loss: 0, gradient: 0 };
      const values = input.currentLogprobs.map((x, t) => {
        const ratio = rollouts ? Math.exp(x - input.oldLogprobs[t]!) : 1;
        const refLogRatio = input.refLogprobs![t]! - x;
        if (fn !== 'none') klEstimators[fn]({ refLogRatio, ratio, ratioSlope: ratio }, out);
        return out.loss;
      });
      expectClose(values, expected.kl.flat(), tolerance);
      const gradient =
        (part && evaluate(part, input, { needs }).gradLogprobs) ?? new Float64Array(values.length);
      expectClose(
        gradient,
        expected.grad_token_mean?.flat() ?? new Float64Array(values.length),
        tolerance * 0.01,
      );
    },
  );
});

describe('KL penalties on rewards of the original', () => {
  const { token_level_scores: scores, cases } = vectors.kl_penalty_in_reward;

  it.each(cases)('$fn', ({ fn, kl_coef: klCoef, token_level_rewards: rewards, metrics }) => {
    const input: AdvantageInput = {
      ...small,
      rewards: Float32Array.from(scores.flat()),
      tasks: new Int32Array(4),
    };
    const penalty = klLossFns[fn].makePenalty(`KL penalty "${fn}"`, { klCoef });
    const output = penalty?.apply(input, penalty.initialCoefficient) ?? {
      rewards: input.rewards,
      metrics: {},
      nextCoefficient: klCoef,
    };
    expectClose(output.rewards, rewards.flat(), tolerance);
    expectMetrics(output.metrics, metrics, tolerance);
    expect(output.nextCoefficient).toBe(klCoef);
  });
});

describe('entropy losses of the original', () => {
  it.each(vectors.entropy_loss)(
    '$fn, $loss_agg_mode',
    ({ fn, entropy_coef: entropyCoef, loss_agg_mode: mode, loss, metrics }) => {
      const part = entropyLossFns[fn].make(`entropy loss "${fn}"`, { entropyCoef });
      const output = (part && evaluate(part, small, { mode })) ?? {
        loss: 0,
        metrics: {},
      };
      // The original states what it subtracts.
      expect(output.loss).toBeCloseTo(-loss, 7);
      expectMetrics(output.metrics, metrics, tolerance);
    },
  );

  it('are aggregated in the mode of the algorithm', () => {
    const vector = vectors.entropy_loss.find(({ fn }) => fn === 'mix')!;
    const { metrics } = createAlgorithm({
      policyLossFn: { name: 'sft' },
      entropyLossFn: { name: 'mix' },
      lossAggMode: vector.loss_agg_mode,
    }).loss(small);
    expect(metrics['entropy_loss']).toBeCloseTo(vector.metrics['entropy_loss']!, 7);
  });
});

describe('loss aggregation of the original', () => {
  it.each(vectors.aggregate_loss)(
    '$mode, normaliser $normalizer',
    ({ mode, normalizer: norm, value }) => {
      expect(aggregateLoss(small.entropy!, aggregationWeights(small, mode, { norm }))).toBeCloseTo(
        value,
        5,
      );
    },
  );
});

describe('the schedule of mix_chord in the original', () => {
  const { args, cases, zero_steps: zero } = vectors.chord_mu_schedule;
  const names = ['muWarmupSteps', 'muDecaySteps', 'muPeak', 'muValley'] as const;
  const schedules: [MuSchedule, number, number][] = [
    ...cases.map(({ step, mu }): [MuSchedule, number, number] => [
      camelCased(args) as unknown as MuSchedule,
      step,
      mu,
    ]),
    [
      Object.fromEntries(names.map((name, i) => [name, zero.args[i]!])) as unknown as MuSchedule,
      zero.step,
      zero.mu,
    ],
  ];

  it.each(schedules)('%j at step %d is %d', (schedule, step, mu) => {
    expect(muAt(step, schedule)).toBeCloseTo(mu, 8);
  });
});

describe('the value loss of the original', () => {
  const evaluate = (
    cliprangeValue: number,
    V: number,
    oldValue: number,
    R: number,
  ): readonly [number, number] => {
    const one = { offsets: Int32Array.of(0, 1), actionMask: Uint8Array.of(1) };
    const input = {
      ...one,
      values: Float32Array.of(V),
      oldValues: Float32Array.of(oldValue),
      returns: Float32Array.of(R),
    };
    const { loss, gradValues } = valueLoss.make('value loss', { cliprangeValue })(input);
    return [loss, gradValues[0]!];
  };

  it.each(vectors.critic_value_loss)(
    'V $V, before $V_old, return $R, range $c',
    ({ V, V_old: old, R, c, loss, grad_V: gradient, ...rest }) => {
      expectClose(evaluate(c, V, old, R), [loss, gradient], tolerance);
      expectClose([evaluate(0.5, V, old, R)[1]], [rest.grad_without_clip ?? V - R], tolerance);
    },
  );
});

describe('m2po of the original', () => {
  const toInput = ({ log_ratio: given, advantages, action_mask: mask }: TokenVector): LossInput => {
    const ratios = typeof given === 'string' ? [[0.01, 0.09, 0.05].map(Math.sqrt)] : given;
    const zero = ratios.map((row) => row.map(() => 0));
    return toLossInput({
      logprob: ratios,
      old_logprob: zero,
      ref_logprob: zero,
      advantages,
      action_mask: mask,
    });
  };

  it.each(vectors.m2po_mask)('keeps $mask of $log_ratio', (vector) => {
    const { kept, metrics } = trustMask(toInput(vector), vector.threshold);
    expect([...kept]).toEqual(vector.mask.flat());
    const figures = (['m2_before', 'm2_after', 'masked_fraction'] as const).filter(
      (name) => vector[name] !== undefined,
    );
    expectClose(
      figures.map((name) => metrics[name]!),
      figures.map((name) => vector[name]!),
      tolerance,
    );
  });

  it('counts tokens it leaves out in the denominator', () => {
    const input = toInput({ log_ratio: [[0, 1]], advantages: [[1, 1]], action_mask: [[1, 1]] });
    const { loss, gradLogprobs } = evaluate(policyLossFns.m2po.make('m2po', {}), input);
    expectClose([loss, ...gradLogprobs], [-0.5, -0.5, 0], tolerance);
  });

  it('lets the gradient through the clip of the log-ratio', () => {
    const input = toInput({ log_ratio: [[25]], advantages: [[-1]], action_mask: [[1]] });
    const { loss, gradLogprobs } = evaluate(policyLossFns.m2po.make('m2po', {}), input);
    expectClose([loss, ...gradLogprobs], [Math.exp(20), Math.exp(20)], tolerance);
  });
});
