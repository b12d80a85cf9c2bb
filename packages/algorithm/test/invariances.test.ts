import type { LossInput } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  aggregationWeights,
  lossAggModes,
  rowWeights,
  type LossAggMode,
} from '../src/parts/aggregate.js';
import { policyLossFns } from '../src/policy-losses/table.js';
import { lossInput, pairedInput } from './arbitrary.js';
import { permuteRows, repeatRows, rowsOf, sliceRows, withMaskedJunk } from './batches.js';
import { evaluate as evaluateLoss } from './evaluate.js';
import { variants, type Variant } from './variants.js';

/** Constant norm, so that padding and subsets of rows do not change it. */
const norm = 100;
const modes = fc.constantFrom(...lossAggModes);
const runs = { numRuns: 150 };

const inputFor = (name: string): fc.Arbitrary<LossInput> =>
  name === 'dpo' ? pairedInput : lossInput;

/** Loss, metrics and gradient of one batch. */
function evaluator([name, args]: Variant): (
  input: LossInput,
  mode: LossAggMode,
  weights?: Float64Array,
) => Result {
  const part = policyLossFns[name].make(name, args);
  return (input, mode, weights) => {
    const { loss, gradLogprobs, metrics } = evaluateLoss(part, input, { mode, norm, weights });
    const terms = termSizes(input);
    return { loss, gradient: Float64Array.from(gradLogprobs), metrics, terms };
  };
}
interface Result {
  readonly loss: number;
  /** Sum of the sizes of the terms, which may cancel where a cut ratio leaves no gradient. */
  readonly terms: number;
  readonly gradient: Float64Array;
  readonly metrics: Readonly<Record<string, number>>;
}

function termSizes({ currentLogprobs, oldLogprobs, advantages, actionMask }: LossInput): number {
  return currentLogprobs.reduce((sum, current, t) => {
    const ratio = Math.exp(Math.min(20, current - oldLogprobs[t]!));
    return sum + actionMask[t]! * Math.abs(advantages[t]!) * ratio;
  }, 0);
}

function expectSame(actual: Result, wanted: Result, tolerance = 1e-9): void {
  const gradientScale = wanted.gradient.reduce((sum, value) => sum + Math.abs(value), 1);
  const rounding = 1e-14 * wanted.terms;
  expect(Object.keys(actual.metrics)).toEqual(Object.keys(wanted.metrics));
  const pairs: [number, number][] = [
    [actual.loss, wanted.loss],
    ...Object.entries(wanted.metrics).map(([key, value]): [number, number] => [
      actual.metrics[key]!,
      value,
    ]),
  ];
  for (const [a, b] of pairs)
    if (!(Math.abs(a - b) <= tolerance * Math.max(gradientScale, Math.abs(b)) + rounding))
      throw new Error(`${a} instead of ${b}`);
  expect(actual.gradient.length).toBe(wanted.gradient.length);
  // Gradients are stored in float32.
  const bad = actual.gradient.findIndex((value, t) => !isNear(value, wanted.gradient[t]!));
  if (bad >= 0)
    throw new Error(
      `gradient of token ${bad}: ${actual.gradient[bad]} instead of ${wanted.gradient[bad]}`,
    );
}

const isNear = (actual: number, wanted: number): boolean =>
  Math.abs(actual - wanted) <= 2e-7 * Math.max(1, Math.abs(wanted));

/** True if the order of tokens matters: m2po ranks equal squared log-ratios in batch order. */
const orderMatters = (name: string): boolean => name === 'm2po';

describe('the order of rows does not matter', () => {
  it.each(variants.filter(([name]) => !orderMatters(name)))('%s %j', (...variant) => {
    const evaluate = evaluator(variant);
    const pairs = variant[0] === 'dpo';
    fc.assert(
      fc.property(inputFor(variant[0]), modes, fc.nat(), (input, mode, seed) => {
        const order = shuffled(rowsOf(input).length, seed, pairs);
        const permuted = permuteRows(input, order);
        const { gradient, ...whole } = evaluate(input, mode);
        const expected = order.flatMap((row) => [
          ...gradient.subarray(input.offsets[row], input.offsets[row + 1]),
        ]);
        expectSame(evaluate(permuted, mode), { ...whole, gradient: Float64Array.from(expected) });
      }),
      runs,
    );
  });
});

describe('masked tokens do not matter, whatever they hold', () => {
  it.each(variants)('%s %j', (...variant) => {
    const evaluate = evaluator(variant);
    const metricsOf = ({
      metrics: { 'seq_mask/masked_tokens': _counted, ...metrics },
    }: Result): Result['metrics'] => metrics;
    fc.assert(
      fc.property(inputFor(variant[0]), modes, fc.nat(), (input, mode, seed) => {
        const { padded, positions } = withMaskedJunk(input, seed);
        const [wanted, actual] = [evaluate(input, mode), evaluate(padded, mode)];
        const gradient = Float64Array.from(positions, (t) => actual.gradient[t]!);
        expectSame(
          { ...actual, metrics: metricsOf(actual), gradient },
          { ...wanted, metrics: metricsOf(wanted) },
        );
        const elsewhere = actual.gradient.filter(
          (value, t) => padded.actionMask[t] === 0 && value !== 0,
        );
        expect([...elsewhere]).toEqual([]);
      }),
      runs,
    );
  });
});

/**
 * True for losses that need the whole optimizer batch: m2po with its threshold, the original's dpo with
 * a single pair, and losses that weight rows themselves.
 */
const wholeBatch = ([name, args]: Variant): boolean =>
  ['m2po', 'dpo', 'mix', 'mix_chord'].includes(name) ||
  args['clipMode'] === 'gspo-one-side' ||
  args['lossAggMode'] !== undefined;

describe('a batch may be computed in parts, given the weights of the whole', () => {
  it.each(variants.filter((variant) => !wholeBatch(variant)))('%s %j', (...variant) => {
    const evaluate = evaluator(variant);
    fc.assert(
      fc.property(lossInput, modes, fc.nat(12), (input, mode, cut) => {
        const weights = rowWeights(input, mode, { norm });
        const { loss, gradient, terms } = evaluate(input, mode, weights);
        const middle = Math.min(cut, input.offsets.length - 1);
        const parts = [[0, middle] as const, [middle, input.offsets.length - 1] as const].map(
          ([from, to]) => evaluate(sliceRows(input, from, to), mode, weights.slice(from, to)),
        );
        const joined = Float64Array.from(parts.flatMap((part) => [...part.gradient]));
        expectSame(
          { loss: parts[0]!.loss + parts[1]!.loss, gradient: joined, metrics: {}, terms },
          { loss, gradient, metrics: {}, terms },
        );
      }),
      runs,
    );
  });
});

/**
 * True for losses whose sums grow with the number of rows. In a doubled batch, m2po may keep one of two
 * equal tokens, and factors of batch sizes count rows.
 */
const countsRows = ([name, args]: Variant): boolean =>
  name === 'm2po' ||
  (name === 'dpo' && args['pairing'] !== 'each') ||
  (name.startsWith('mix') && args['normalization'] !== 'kinds');

describe('a batch next to its copy has the same loss, and half the gradient in each', () => {
  it.each(variants.filter((variant) => !countsRows(variant)))('%s %j', (...variant) => {
    const evaluate = evaluator(variant);
    const means = fc.constantFrom(
      'token-mean',
      'seq-mean-token-sum',
      'seq-mean-token-mean' as const,
    );
    fc.assert(
      fc.property(inputFor(variant[0]), means, (input, mode) => {
        const [once, twice] = [evaluate(input, mode), evaluate(repeatRows(input, 2), mode)];
        const gradient = Float64Array.from(
          [...once.gradient, ...once.gradient],
          (value) => value / 2,
        );
        // The epsilon of denominators has half the weight in a batch that is twice as large.
        expectSame(twice, { ...once, gradient }, 1e-7);
      }),
      runs,
    );
  });
});

/** Losses that are equal if current and old policy agree: REINFORCE with the given advantages. */
const plainAtRatioOne: readonly Variant[] = [
  ['ppo', {}],
  ['ppo', { fallbackToPolicyGradient: true }],
  ['gspo', {}],
  ['cispo', {}],
  ['sapo', { differentiateGate: true }],
  ['sapo', { differentiateGate: true, tauPos: 2, tauNeg: 3 }],
  ['topr', {}],
  ['topr', { sequenceRatio: true }],
  ['opmd', { tau: 0 }],
  ['sppo', {}],
  ['importance_sampling', {}],
  ['truncated_importance_sampling', {}],
  ['truncated_importance_sampling', { level: 'sequence', mode: 'mask' }],
  ['rec', {}],
  [
    'rec',
    {
      clipMode: 'ring',
      weight: 'importance_sampling',
      fixOpdAdvantage: true,
      regularizer: 'k2',
      regularizerCoef: 1,
    },
  ],
  ['m2po', {}],
];

describe('at ratio 1 the gradient is that of plain policy gradient', () => {
  it.each(plainAtRatioOne)('%s %j', (...variant) => {
    const evaluate = evaluator(variant);
    fc.assert(
      fc.property(lossInput, modes, (given, mode) => {
        const input = { ...given, oldLogprobs: given.currentLogprobs };
        const weights = aggregationWeights(input, mode, { norm });
        const { gradient } = evaluate(input, mode);
        gradient.forEach((value, t) =>
          expect(isNear(value, -weights[t]! * input.advantages[t]!)).toBe(true),
        );
      }),
      runs,
    );
  });

  it('except that the gate of sapo in Trinity-RFT is 2 / tau there', () => {
    const evaluate = evaluator(['sapo', {}]);
    fc.assert(
      fc.property(lossInput, modes, (given, mode) => {
        const input = { ...given, oldLogprobs: given.currentLogprobs };
        const weights = aggregationWeights(input, mode, { norm });
        evaluate(input, mode).gradient.forEach((value, t) => {
          const advantage = input.advantages[t]!;
          expect(isNear(value, (-weights[t]! * advantage * 2) / (advantage > 0 ? 1 : 1.05))).toBe(
            true,
          );
        });
      }),
      runs,
    );
  });
});

describe('ppo', () => {
  it('never pushes a token further beyond its clip range', () => {
    const evaluate = evaluator(['ppo', {}]);
    fc.assert(
      fc.property(lossInput, (input) => {
        const { gradient } = evaluate(input, 'token-mean');
        input.currentLogprobs.forEach((current, t) => {
          const ratio = Math.exp(current - input.oldLogprobs[t]!);
          const beyond = input.advantages[t]! > 0 ? ratio > 1.2 : ratio < 0.8;
          expect(beyond ? Math.abs(gradient[t]!) : 0).toBe(0);
        });
      }),
      runs,
    );
  });
});

/** Shuffles the rows; pairs stay together. */
function shuffled(rows: number, seed: number, pairs: boolean): readonly number[] {
  const units = Array.from({ length: pairs ? rows / 2 : rows }, (_, i) =>
    pairs ? [2 * i, 2 * i + 1] : [i],
  );
  const keyed = units.map((unit, i) => ({
    unit,
    key: Math.imul(seed + i * 7919, 2654435761) >>> 0,
  }));
  return keyed.toSorted((a, b) => a.key - b.key).flatMap(({ unit }) => unit);
}
