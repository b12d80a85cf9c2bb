import { ConfigError, EngineError } from '@trinity-rft/core';
import type { AdvantageInput } from '@trinity-rft/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { klFns } from './table.js';

/** Two rows; the middle token of the first row is masked. */
const input = (oldLogprobs: readonly number[], refLogprobs: readonly number[]): AdvantageInput => ({
  offsets: Int32Array.of(0, 3, 5),
  actionMask: Uint8Array.of(1, 0, 1, 1, 1),
  rewards: Float32Array.of(0, 0, 1, 0, -1),
  tasks: Int32Array.of(0, 0),
  oldLogprobs: Float32Array.from(oldLogprobs),
  refLogprobs: Float32Array.from(refLogprobs),
});

describe('a KL penalty', () => {
  it('is taken off the rewards of trained tokens, and measured as the mean of the rows', () => {
    const penalty = klFns.k1.makePenalty('KL penalty "k1"', { klCoef: 0.5 })!;
    const { rewards, metrics, nextCoefficient } = penalty.apply(
      input([-1, NaN, -2, -1, -1], [-2, NaN, -2, -1.5, -1]),
      0.5,
    );
    expect([...rewards]).toEqual([-0.5, 0, 1, -0.25, -1]);
    expect(metrics['kl']).toBeCloseTo((1 / 2 + 0.5 / 2) / 2, 7);
    expect([metrics['kl_coef'], nextCoefficient]).toEqual([0.5, 0.5]);
  });

  it('is absent for none and for a coefficient of 0', () => {
    expect([klFns.none.makePenalty('none', {}), klFns.k2.makePenalty('k2', { klCoef: 0 })]).toEqual(
      [undefined, undefined],
    );
  });

  it('steers its coefficient towards the target by at most a fifth, also where a batch has more rows than the horizon', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 3, noNaN: true }),
        fc.double({ min: 1e-3, max: 1, noNaN: true }),
        fc.double({ min: 0.01, max: 100, noNaN: true }),
        (gap, coefficient, horizon) => {
          const targetKl = 0.5;
          const penalty = klFns.abs.makePenalty('abs', {
            klCoef: 0.1,
            adaptive: true,
            targetKl,
            horizon,
          })!;
          const { nextCoefficient, metrics } = penalty.apply(
            input([0, 0, 0, 0, 0], [-gap, 0, -gap, -gap, -gap]),
            coefficient,
          );
          const error = Math.min(Math.max(metrics['kl']! / targetKl - 1, -0.2), 0.2);
          const share = Math.min(1, 2 / horizon);
          expect(nextCoefficient).toBeCloseTo(coefficient * (1 + error * share), 12);
          expect(nextCoefficient).toBeGreaterThan(0);
          expect(Math.sign(nextCoefficient - coefficient)).toBe(Math.sign(error));
        },
      ),
    );
  });

  it('needs a target and a horizon to be adaptive', () => {
    const make = (): unknown =>
      klFns.k2.makePenalty('KL penalty "k2"', { adaptive: true, targetKl: 1 });
    expect(make).toThrow(
      'The argument "adaptive" of KL penalty "k2" is true; expected "targetKl" and "horizon" too.',
    );
    expect(make).toThrow(ConfigError);
  });

  it('names the row of a number that is not finite', () => {
    const penalty = klFns.k2.makePenalty('k2', {})!;
    const apply = (): unknown => penalty.apply(input([-1, 0, -1, -1, NaN], [-1, 0, -1, -1, -1]), 1);
    expect(apply).toThrow(
      'oldLogprobs is NaN at response token 1 of row 1; expected a finite number.',
    );
    expect(apply).toThrow(EngineError);
  });
});
