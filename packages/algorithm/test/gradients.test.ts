import type { LossInput } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entropyLossFns } from '../src/entropy/table.js';
import { klFns } from '../src/kl/table.js';
import { lossAggModes, type LossAggMode } from '../src/parts/aggregate.js';
import { policyLossFns } from '../src/policy-losses/table.js';
import { lossInput, pairedInput } from './arbitrary.js';
import { evaluate } from './evaluate.js';
import { aggregate, literalKl, literalLoss, toRows } from './literal.js';
import { variants } from './variants.js';

const step = 2 ** -20;
const modes = fc.constantFrom(...lossAggModes);

/**
 * Checks that the derivative lies between the left and the right slope. At the bound of a clip the
 * slopes differ, and every value between them is a subgradient. `lossAt` is the loss as a function of
 * one array; everything that the loss treats as a constant is held fixed.
 */
function expectDerivative(
  lossAt: (x: Float64Array) => number,
  at: ArrayLike<number>,
  gradient: ArrayLike<number> | undefined,
  size = 0,
): void {
  const x = Float64Array.from(at);
  const here = lossAt(x);
  const noise = 4e-9 * (total(gradient) + size);
  for (let t = 0; t < x.length; t++) {
    const center = x[t]!;
    x[t] = center + step;
    const right = (lossAt(x) - here) / step;
    x[t] = center - step;
    const left = (here - lossAt(x)) / step;
    x[t] = center;
    // Tolerance: the second derivative of e^d is as large as e^d, and finite differences lose digits
    // for large losses.
    const slack =
      1e-4 + 1e-5 * Math.max(Math.abs(left), Math.abs(right)) + 1e-8 * Math.abs(here) + noise;
    const value = gradient?.[t] ?? 0;
    if (value < Math.min(left, right) - slack || value > Math.max(left, right) + slack)
      throw new Error(`token ${t}: gradient ${value}, slopes ${left} and ${right}`);
  }
}

/**
 * Tolerance for rounding errors of sums: relative to the gradient, or to `size` where large losses are
 * clipped.
 */
function expectSame(
  actual: number,
  wanted: number,
  gradient: ArrayLike<number> | undefined,
  size = 0,
): void {
  const slack = 1e-9 * Math.max(1, Math.abs(wanted)) + 1e-14 * (total(gradient) + size);
  if (!(Math.abs(actual - wanted) <= slack)) throw new Error(`${actual} instead of ${wanted}`);
}

const total = (values: ArrayLike<number> = []): number =>
  Array.from(values).reduce((sum, value) => sum + Math.abs(value), 0);

const thousand = { numRuns: 1000 };

describe('policy losses are what they say, and their gradients are finite differences', () => {
  it.each(variants)('%s %j', (name, args) => {
    const part = policyLossFns[name].make(name, args);
    const check = (input: LossInput, mode: LossAggMode): void => {
      const { loss, gradLogprobs, metrics } = evaluate(part, input, { mode });
      const literal = (x: ArrayLike<number>): number =>
        literalLoss(name, args, mode, toRows(input, x), input.step);
      const oneSigned = {
        ...input,
        advantages: input.advantages.map((advantage) => -Math.abs(advantage)),
      };
      const size = Math.abs(literalLoss(name, args, mode, toRows(oneSigned), input.step));
      expectSame(loss, literal(input.currentLogprobs), gradLogprobs, size);
      expectDerivative(literal, input.currentLogprobs, gradLogprobs, size);
      for (const [metric, value] of Object.entries(metrics))
        if (!Number.isFinite(value)) throw new Error(`${metric} is ${value}`);
    };
    fc.assert(fc.property(name === 'dpo' ? pairedInput : lossInput, modes, check), thousand);
  });

  it('covers every row of the table', () => {
    expect(new Set(variants.map(([name]) => name))).toEqual(new Set(Object.keys(policyLossFns)));
  });
});

describe('KL losses are what they say, and their gradients are finite differences', () => {
  const names = Object.keys(klFns).filter((name) => name !== 'none') as (keyof typeof klFns)[];
  it.each(names.flatMap((name) => [true, false].map((rollouts) => [name, rollouts] as const)))(
    '%s, rollouts %s',
    (name, rollouts) => {
      const part = klFns[name].make(name, { klCoef: 0.5 })!;
      const check = (input: LossInput, mode: LossAggMode): void => {
        const output = evaluate(part, input, { mode, needs: { rollouts } });
        const literal = (x: ArrayLike<number>): number =>
          0.5 * aggregate(toRows(input, x), mode, (token) => literalKl(name, token, rollouts));
        expectSame(output.loss, literal(input.currentLogprobs), output.gradLogprobs);
        expectDerivative(literal, input.currentLogprobs, output.gradLogprobs);
      };
      fc.assert(fc.property(lossInput, modes, check), thousand);
    },
  );
});

describe('entropy losses are what they say, and their gradients are finite differences', () => {
  it.each([
    ['default', 0.3],
    ['default', -0.2],
    ['mix', 0.3],
  ] as const)('%s with coefficient %d', (name, entropyCoef) => {
    const part = entropyLossFns[name].make(name, { entropyCoef })!;
    const check = (input: LossInput, mode: LossAggMode): void => {
      const output = evaluate(part, input, { mode });
      const literal = (entropy: ArrayLike<number>): number => {
        const all = toRows({ ...input, entropy: Float32Array.from(entropy) });
        const rows = name === 'mix' ? all.filter(({ expert }) => !expert) : all;
        return (
          -entropyCoef *
          aggregate(rows, mode, ({ H }) => H, Math.max(...all.map(({ tokens }) => tokens.length)))
        );
      };
      expectSame(output.loss, literal(input.entropy!), output.gradEntropy);
      expectDerivative(literal, input.entropy!, output.gradEntropy);
    };
    fc.assert(fc.property(lossInput, modes, check), thousand);
  });
});
