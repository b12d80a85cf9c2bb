import type { LossInput } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aggregationWeights, entropyLossFns, klLossFns, lossAggModes, policyLossFns, type LossTerm } from '../src/index.js';
import { lossInput } from './arbitrary.js';

const step = 2 ** -18;

/**
 * A derivative lies between the slopes to the left and to the right of it; where a clip makes them differ, anything between
 * them is a subgradient. Inputs are multiples of 2^-10, so that a step is exact in float32.
 */
function expectDerivative(
  term: LossTerm,
  input: LossInput,
  field: 'currentLogprobs' | 'entropy',
  gradient: Float64Array | undefined,
  mode: (typeof lossAggModes)[number],
): void {
  const weights = aggregationWeights(input, mode);
  const lossAt = (t: number, by: number): number => {
    const moved = input[field]!.slice();
    moved[t] = moved[t]! + by;
    return term({ ...input, [field]: moved }, weights).loss;
  };
  const here = term(input, weights).loss;
  for (let t = 0; t < weights.length; t++) {
    const slopes = [(lossAt(t, step) - here) / step, (here - lossAt(t, -step)) / step];
    const slack = 1e-4 * (1 + Math.abs(slopes[0]!));
    expect(gradient?.[t] ?? 0).toBeGreaterThanOrEqual(Math.min(...slopes) - slack);
    expect(gradient?.[t] ?? 0).toBeLessThanOrEqual(Math.max(...slopes) + slack);
  }
}

const modes = fc.constantFrom(...lossAggModes);

describe('gradients are finite differences', () => {
  const variants: readonly [keyof typeof policyLossFns, object][] = [
    ['ppo', {}],
    ['ppo', { clipRangeLow: 0.1, clipRangeHigh: 0.4, clipRatioC: 1.5 }],
    ['ppo', { enableSequenceMasking: true, deltaSequenceMasking: 0.1234 }],
    ['sft', {}],
  ];
  it.each(variants)('policy loss %s %j', (name, args) => {
    const { term } = policyLossFns[name].make(name, args);
    fc.assert(
      fc.property(lossInput, modes, (input, mode) =>
        expectDerivative(term, input, 'currentLogprobs', term(input, aggregationWeights(input, mode)).gradLogprobs, mode),
      ),
      { numRuns: 40 },
    );
  });

  it.each(Object.keys(klLossFns).filter((name) => name !== 'none') as (keyof typeof klLossFns)[])('KL loss %s', (name) => {
    const { term } = klLossFns[name].make(name, { klCoef: 0.5 }, { rollouts: true })!;
    fc.assert(
      fc.property(lossInput, modes, (input, mode) =>
        expectDerivative(term, input, 'currentLogprobs', term(input, aggregationWeights(input, mode)).gradLogprobs, mode),
      ),
      { numRuns: 40 },
    );
  });

  it.each([0.3, -0.2])('entropy loss with coefficient %d', (entropyCoef) => {
    const { term } = entropyLossFns.default.make('default', { entropyCoef })!;
    fc.assert(
      fc.property(lossInput, modes, (input, mode) =>
        expectDerivative(term, input, 'entropy', term(input, aggregationWeights(input, mode)).gradEntropy, mode),
      ),
      { numRuns: 40 },
    );
  });
});

describe('the gradient of ppo', () => {
  it('is that of plain policy gradient at ratio 1', () => {
    const { term } = policyLossFns.ppo.make('ppo', {});
    fc.assert(
      fc.property(lossInput, modes, (input, mode) => {
        const weights = aggregationWeights(input, mode);
        const output = term({ ...input, oldLogprobs: input.currentLogprobs }, weights);
        output.gradLogprobs!.forEach((gradient, t) => expect(gradient).toBeCloseTo(-weights[t]! * input.advantages[t]!, 12));
        expect(output.metrics).toMatchObject({ pg_clipfrac: 0, pg_clipfrac_lower: 0 });
        expect(output.metrics['ppo_kl']).toBeCloseTo(0, 12);
      }),
    );
  });

  it('is that of plain policy gradient, whatever the ratio, when told to fall back', () => {
    const { term } = policyLossFns.ppo.make('ppo', { fallbackToPolicyGradient: true });
    fc.assert(
      fc.property(lossInput, modes, (input, mode) => {
        const weights = aggregationWeights(input, mode);
        term(input, weights).gradLogprobs!.forEach((gradient, t) => expect(gradient).toBeCloseTo(-weights[t]! * input.advantages[t]!, 12));
      }),
    );
  });

  it('never pushes a token further beyond its clip range', () => {
    const { term } = policyLossFns.ppo.make('ppo', {});
    fc.assert(
      fc.property(lossInput, (input) => {
        const gradient = term(input, aggregationWeights(input, 'token-mean')).gradLogprobs!;
        input.currentLogprobs.forEach((current, t) => {
          const ratio = Math.exp(current - input.oldLogprobs[t]!);
          const beyond = input.advantages[t]! > 0 ? ratio > 1.2 : ratio < 0.8;
          expect(beyond ? Math.abs(gradient[t]!) : 0).toBe(0);
        });
      }),
    );
  });

  it('is finite for log-ratios that overflow', () => {
    const { term } = policyLossFns.ppo.make('ppo', {});
    const extreme = (current: number, advantage: number): LossInput => ({
      step: 1,
      offsets: Int32Array.of(0, 1),
      actionMask: Uint8Array.of(1),
      currentLogprobs: Float32Array.of(current),
      oldLogprobs: Float32Array.of(-100),
      advantages: Float32Array.of(advantage),
    });
    for (const advantage of [-1, 1]) {
      const { loss, gradLogprobs } = term(extreme(0, advantage), Float64Array.of(1));
      expect([Number.isFinite(loss), gradLogprobs![0]]).toEqual([true, 0]);
    }
  });
});
