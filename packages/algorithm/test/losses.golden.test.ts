import { describe, expect, it } from 'vitest';
import { aggregateLoss, aggregationWeights, createAlgorithm, entropyLossFns, klLossFns, type LossAggMode } from '../src/index.js';
import { klEstimators } from '../src/kl/estimators.js';
import { camelCased, expectClose, expectMetrics, readVectors, toLossInput, type InputVectors, type Matrix } from './support.js';

type Numbers = Readonly<Record<string, number>>;

interface Vectors {
  readonly tolerance: number;
  readonly inputs: Readonly<Record<string, InputVectors>>;
  readonly policy_loss: readonly {
    readonly id: string;
    readonly fn: string;
    readonly args: { readonly loss_agg_mode: LossAggMode } & Readonly<Record<string, unknown>>;
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
    readonly kl_loss: Readonly<Record<LossAggMode, { readonly loss: number; readonly metrics: Numbers }>>;
    readonly grad_token_mean?: Matrix;
  }[];
  readonly entropy_loss: readonly {
    readonly fn: string;
    readonly entropy_coef: number;
    readonly loss_agg_mode: LossAggMode;
    readonly loss: number;
    readonly metrics: Numbers;
  }[];
  readonly aggregate_loss: readonly { readonly mode: LossAggMode; readonly normalizer?: number; readonly value: number }[];
}

const vectors = readVectors<Vectors>('losses');
const { tolerance } = vectors;
const inputOf = (name: string): ReturnType<typeof toLossInput> => toLossInput(vectors.inputs[name]!);
const small = inputOf('small_4x5');

describe('policy losses of the original', () => {
  it.each(vectors.policy_loss)(
    '$id: loss, metrics and gradient',
    ({ fn, args: { loss_agg_mode: lossAggMode, ...args }, input, ...expected }) => {
      const algorithm = createAlgorithm({
        policyLossFn: { name: fn, args: camelCased(args) },
        lossAggMode,
        ...(fn === 'ppo' && { advantageFn: { name: 'grpo' } }),
      });
      const { loss, gradLogprobs, metrics } = algorithm.loss(inputOf(input));
      expect(loss).toBeCloseTo(expected.expect.loss, 5);
      expectMetrics(metrics, { ...expected.expect.metrics, final_loss: expected.expect.loss }, tolerance);
      expectClose(gradLogprobs, expected.grad_logprob_run.flat(), tolerance);
    },
  );
});

describe('KL losses of the original', () => {
  it.each(vectors.kl)(
    '$id: token values, losses in every mode, gradient',
    ({ fn, kl_coef: klCoef, input: name, with_old_logprob: rollouts, ...expected }) => {
      const input = inputOf(name);
      const part = klLossFns[fn].make(`KL loss "${fn}"`, { klCoef }, { rollouts });
      for (const [mode, { loss, metrics }] of Object.entries(expected.kl_loss) as [LossAggMode, { loss: number; metrics: Numbers }][]) {
        const output = part?.term(input, aggregationWeights(input, mode)) ?? { loss: 0, metrics: {} };
        expect(output.loss).toBeCloseTo(loss, 7);
        expectMetrics(output.metrics, metrics, tolerance);
      }
      const estimate = fn === 'none' ? undefined : klEstimators[fn];
      const values = Array.from(
        input.currentLogprobs,
        (current, t) =>
          estimate?.({ current, reference: input.refLogprobs![t]!, old: rollouts ? input.oldLogprobs[t]! : undefined }).value ?? 0,
      );
      expectClose(values, expected.kl.flat(), tolerance);
      const gradient = part?.term(input, aggregationWeights(input, 'token-mean')).gradLogprobs ?? new Float64Array(values.length);
      expectClose(gradient, expected.grad_token_mean?.flat() ?? values.map(() => 0), tolerance * 0.01);
    },
  );
});

describe('entropy losses of the original', () => {
  // `mix` belongs to an algorithm that is not in the table.
  it.each(vectors.entropy_loss.filter(({ fn }) => fn !== 'mix'))(
    '$fn, $loss_agg_mode',
    ({ fn, entropy_coef: entropyCoef, loss_agg_mode: mode, loss, metrics }) => {
      const part = entropyLossFns[fn as keyof typeof entropyLossFns].make(`entropy loss "${fn}"`, { entropyCoef });
      const output = part?.term(small, aggregationWeights(small, mode)) ?? { loss: 0, metrics: {} };
      // The original states what it subtracts.
      expect(output.loss).toBeCloseTo(-loss, 7);
      expectMetrics(output.metrics, metrics, tolerance);
    },
  );
});

describe('loss aggregation of the original', () => {
  it.each(vectors.aggregate_loss)('$mode, normaliser $normalizer', ({ mode, normalizer, value }) => {
    expect(aggregateLoss(small.entropy!, aggregationWeights(small, mode, normalizer))).toBeCloseTo(value, 5);
  });
});
