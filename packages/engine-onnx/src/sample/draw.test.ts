import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { drawToken, type DrawOptions } from './draw.js';

const plain: DrawOptions = { greedy: false, topP: 1, topK: Infinity, topLogprobs: 0 };

/** Log-probabilities of weights, as a graph returns them. */
function distribution(...weights: readonly number[]): Float32Array {
  const total = weights.reduce((a, b) => a + b, 0);
  return Float32Array.from(weights, (weight) => Math.log(weight / total));
}

const distributions = fc
  .array(fc.double({ min: -30, max: 0, noNaN: true }), { minLength: 1, maxLength: 40 })
  .map((logits) => distribution(...logits.map(Math.exp)));
const uniforms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** The ids that can be drawn. */
function support(logprobs: Float32Array, options: DrawOptions): number[] {
  return drawToken(logprobs, 0, { ...options, topLogprobs: logprobs.length }).top!.map(
    ({ token }) => token,
  );
}

describe('drawToken', () => {
  it('inverts the cumulative distribution, in the order of the ids', () => {
    const logprobs = distribution(1, 2, 0, 1);
    expect(
      [0, 0.2499, 0.2501, 0.7499, 0.7501, 0.9999].map((u) => drawToken(logprobs, u, plain).token),
    ).toEqual([0, 0, 1, 1, 3, 3]);
  });

  it('draws each token as often as its probability says', () => {
    const draws = Array.from(
      { length: 1000 },
      (_, i) => drawToken(distribution(1, 5, 3, 1), (i + 0.5) / 1000, plain).token,
    );
    expect([0, 1, 2, 3].map((id) => draws.filter((token) => token === id).length)).toEqual([
      100, 500, 300, 100,
    ]);
  });

  it('never draws a token of probability 0', () => {
    fc.assert(
      fc.property(
        fc
          .array(fc.constantFrom(0, 0, 1, 2), { minLength: 1, maxLength: 12 })
          .filter((w) => w.some(Boolean)),
        uniforms,
        (weights, u) => {
          expect(weights[drawToken(distribution(...weights), u, plain).token]).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('keeps the log-probability of the graph when nothing is cut off, and renormalises when something is', () => {
    const logprobs = distribution(4, 3, 2, 1);
    expect(drawToken(logprobs, 0.5, plain).logprob).toBe(logprobs[1]);
    expect(drawToken(logprobs, 0.6, { ...plain, topK: 2 })).toEqual({
      token: 1,
      logprob: expect.closeTo(Math.log(3 / 7), 6),
    });
    expect(drawToken(logprobs, 0.6, { ...plain, topP: 0.75 })).toEqual({
      token: 1,
      logprob: expect.closeTo(Math.log(3 / 9), 1),
    });
  });

  it('keeps the k most probable tokens; of equal ones the smaller ids', () => {
    expect(support(distribution(1, 3, 2, 3, 2), { ...plain, topK: 3 })).toEqual([1, 3, 2]);
    expect(support(distribution(1, 1, 1), { ...plain, topK: 2 })).toEqual([0, 1]);
    fc.assert(
      fc.property(distributions, fc.integer({ min: 1, max: 45 }), (logprobs, topK) => {
        const sorted = [...logprobs.keys()].sort(
          (a, b) => Math.exp(logprobs[b]!) - Math.exp(logprobs[a]!) || a - b,
        );
        expect(support(logprobs, { ...plain, topK })).toEqual(sorted.slice(0, topK));
      }),
    );
  });

  it('keeps the fewest tokens whose probability reaches topP', () => {
    fc.assert(
      fc.property(
        distributions,
        fc.double({ min: 0.01, max: 0.999, noNaN: true }),
        (logprobs, topP) => {
          const kept = support(logprobs, { ...plain, topP });
          const total = logprobs.reduce((sum, lp) => sum + Math.exp(lp), 0);
          const share = (ids: readonly number[]): number =>
            ids.reduce((sum, id) => sum + Math.exp(logprobs[id]!), 0) / total;
          expect(share(kept)).toBeGreaterThan(topP - 1e-9);
          expect(share(kept.slice(0, -1))).toBeLessThan(topP + 1e-9);
          const weakest = Math.min(...kept.map((id) => logprobs[id]!));
          expect(
            [...logprobs.keys()].filter((id) => logprobs[id]! > weakest && !kept.includes(id)),
          ).toEqual([]);
        },
      ),
    );
  });

  it('applies topP to what topK leaves', () => {
    // 4 and 3 of 7 remain; 4 / 7 = 0.571 reaches 0.57 although it is only 0.4 of everything.
    expect(support(distribution(4, 3, 2, 1), { ...plain, topK: 2, topP: 0.57 })).toEqual([0]);
  });

  it('sums to one over what can be drawn', () => {
    fc.assert(
      fc.property(
        distributions,
        uniforms,
        fc.constantFrom({ topK: 3 }, { topP: 0.6 }, { topK: 5, topP: 0.9 }),
        (logprobs, u, cut) => {
          const { top } = drawToken(logprobs, u, { ...plain, ...cut, topLogprobs: 40 });
          expect(top!.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)).toBeCloseTo(1, 5);
        },
      ),
    );
  });

  it('draws no forbidden token', () => {
    fc.assert(
      fc.property(distributions, uniforms, (logprobs, u) => {
        fc.pre(logprobs.length > 1);
        const forbidden = new Set(
          [0, logprobs.length - 2].filter((id) => id < logprobs.length - 1),
        );
        expect(forbidden.has(drawToken(logprobs, u, { ...plain, forbidden }).token)).toBe(false);
      }),
    );
    expect(
      drawToken(distribution(4, 3, 3), 0, { ...plain, forbidden: new Set([0]) }).logprob,
    ).toBeCloseTo(Math.log(0.5), 6);
  });

  it.each([
    ['allowed', { allowed: Uint8Array.of(0, 1, 1, 0) }],
    ['not forbidden', { forbidden: new Set([0, 3]) }],
  ])('draws among ids that are %s, however improbable all of them are', (_, restriction) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e30 }),
        uniforms,
        fc.constantFrom({}, { greedy: true }, { topK: 1 }, { topP: 0.5 }),
        (far, u, cut) => {
          const logprobs = Float32Array.of(-1, -far, -far, -2);
          const options = { ...plain, ...restriction, ...cut, topLogprobs: 4 };
          const { token, logprob, top } = drawToken(logprobs, u, options);
          expect([1, 2]).toContain(token);
          expect(logprob).toBeCloseTo(top!.length === 1 ? 0 : Math.log(0.5), 10);
        },
      ),
    );
    expect(
      drawToken(Float32Array.of(0, -1200, -800, 0), 0.5, { ...plain, ...restriction }),
    ).toEqual({ token: 2, logprob: 0 });
  });

  it('takes the most probable token when greedy, whatever the number drawn', () => {
    expect(
      [0, 0.5, 0.999].map(
        (u) => drawToken(distribution(1, 3, 3), u, { ...plain, greedy: true }).token,
      ),
    ).toEqual([1, 1, 1]);
  });

  it('reports a log-probability that is not finite when an input is not a number', () => {
    expect(drawToken(Float32Array.of(-1, NaN, -1), 0.1, plain).logprob).toBeNaN();
  });
});
