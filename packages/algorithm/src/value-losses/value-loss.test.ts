import { EngineError } from '@trinity-rft/core';
import type { ValueLossInput } from '@trinity-rft/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { valueLoss } from './value-loss.js';

const number = fc.integer({ min: -2048, max: 2048 }).map((value) => value / 1024);

const inputs: fc.Arbitrary<ValueLossInput> = fc
  .array(fc.record({ trained: fc.boolean(), value: number, old: number, target: number }), {
    maxLength: 8,
  })
  .map((tokens) => ({
    offsets: Int32Array.of(0, tokens.length),
    actionMask: Uint8Array.from(tokens, ({ trained }) => (trained ? 1 : 0)),
    values: Float32Array.from(tokens, ({ trained, value }) => (trained ? value : NaN)),
    oldValues: Float32Array.from(tokens, ({ old }) => old),
    returns: Float32Array.from(tokens, ({ target }) => target),
  }));

/** The formula of the loss, written out token by token. */
function literal(
  { actionMask, oldValues, returns }: ValueLossInput,
  values: ArrayLike<number>,
  c: number,
): number {
  const losses = [...actionMask.keys()]
    .filter((t) => actionMask[t] === 1)
    .map((t) => {
      const [low, high] = [
        Math.fround(oldValues[t]! - Math.fround(c)),
        Math.fround(oldValues[t]! + Math.fround(c)),
      ];
      const clipped = Math.min(Math.max(values[t]!, low), high);
      return Math.max((values[t]! - returns[t]!) ** 2, (clipped - returns[t]!) ** 2) / 2;
    });
  return losses.reduce((sum, loss) => sum + loss, 0) / (losses.length + 1e-8);
}

describe('the value loss', () => {
  it.each([0.5, 0.1, 0])(
    'is what it says, with the slopes of it as gradient, range %d',
    (cliprangeValue) => {
      const loss = valueLoss.make('value loss', { cliprangeValue });
      const step = 2 ** -20;
      fc.assert(
        fc.property(inputs, (input) => {
          const output = loss(input);
          const values = Float64Array.from(input.values);
          const here = literal(input, values, cliprangeValue);
          expect(output.loss).toBeCloseTo(here, 9);
          const slopesAt = (t: number): readonly number[] => {
            const at = (by: number): number =>
              literal(input, values.with(t, values[t]! + by), cliprangeValue);
            // Exactly on a bound the two branches share the gradient, which is then smaller than the
            // slope.
            const onBound = Math.abs(values[t]! - input.oldValues[t]!) === cliprangeValue;
            return input.actionMask[t] === 0
              ? [0]
              : [(at(step) - here) / step, (here - at(-step)) / step, ...(onBound ? [0] : [])];
          };
          output.gradValues.forEach((gradient, t) => {
            expect(gradient).toBeGreaterThanOrEqual(Math.min(...slopesAt(t)) - 1e-5);
            expect(gradient).toBeLessThanOrEqual(Math.max(...slopesAt(t)) + 1e-5);
          });
        }),
        { numRuns: 1000 },
      );
    },
  );

  it('is nothing where values are right', () => {
    const loss = valueLoss.make('value loss', {});
    const input = {
      offsets: Int32Array.of(0, 2),
      actionMask: Uint8Array.of(1, 1),
      oldValues: Float32Array.of(1, 3),
      returns: Float32Array.of(1, 3),
    };
    expect(loss({ ...input, values: Float32Array.of(1, 3) })).toMatchObject({
      loss: 0,
      metrics: { vf_clipfrac: 0, vpred_mean: expect.closeTo(2, 6) as number },
    });
  });

  it('is 0 without trained tokens, and rejects numbers that are not finite', () => {
    const one = {
      offsets: Int32Array.of(0, 1),
      values: Float32Array.of(Infinity),
      oldValues: Float32Array.of(0),
      returns: Float32Array.of(0),
    };
    const loss = valueLoss.make('value loss', {});
    expect(loss({ ...one, actionMask: Uint8Array.of(0) }).loss).toBe(0);
    expect(() => loss({ ...one, actionMask: Uint8Array.of(1) })).toThrow(
      'values is Infinity at response token 0 of row 0; expected a finite number.',
    );
    expect(() => loss({ ...one, actionMask: Uint8Array.of(1) })).toThrow(EngineError);
  });
});
