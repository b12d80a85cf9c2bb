import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lossFunctions } from './losses.js';

const number = fc.double({ min: -3, max: 0, noNaN: true });
const given = fc.record({
  weights: fc.double({ min: -2, max: 2, noNaN: true }),
  logprobs: number,
  advantages: fc.double({ min: -2, max: 2, noNaN: true }),
});
const settings = { clip_low_threshold: 0.8, clip_high_threshold: 1.2, beta: 0.3 };
/** Losses that are differentiated completely; the other losses treat a factor as a constant. */
const differentiable = Object.entries(lossFunctions).filter(
  ([name]) => !['cispo', 'gspo'].includes(name),
);

describe('losses', () => {
  it.each(differentiable)('%s has the slope of its loss', (_name, { token }) => {
    fc.assert(
      fc.property(number, given, (p, inputs) => {
        const at = (x: number): number => token(x, inputs, settings).loss;
        const h = 1e-6;
        const [left, right] = [(at(p) - at(p - h)) / h, (at(p + h) - at(p)) / h];
        const { slope } = token(p, inputs, settings);
        // At the bounds of PPO's clip, the left and the right slope differ.
        expect(Math.min(Math.abs(slope - left), Math.abs(slope - right))).toBeLessThan(1e-4);
      }),
    );
  });

  it('agree with what a SkyRL server computed', () => {
    const p = [-8.558961868286133, -6.850922107696533, -7.8618974685668945, -3.7809221744537354];
    const q = [-8.558962821960449, -6.850918769836426, -7.861896514892578, -3.7809224128723145];
    const advantages = [1, -1, 1, 0.5];
    const loss = lossFunctions['importance_sampling'];
    const losses = p.map(
      (value, i) =>
        loss?.token(value, { logprobs: q[i] ?? 0, advantages: advantages[i] ?? 0 }, {}).loss,
    );
    for (const [i, expected] of [-1, 1, -1, -0.5].entries())
      expect(losses[i]).toBeCloseTo(expected, 5);
  });

  it('hold the ratio as PPO and CISPO say', () => {
    const { ppo, cispo } = lossFunctions;
    const far = { logprobs: -2, advantages: 1 };
    expect(ppo?.token(-1, far, settings)).toEqual({ loss: -1.2, slope: 0 });
    expect(cispo?.token(-1, far, settings)).toEqual({ loss: 1.2, slope: -1.2 });
    const worse = { logprobs: -2, advantages: -1 };
    expect(ppo?.token(-1, worse, settings).slope).toBeCloseTo(Math.E, 10);
    expect(cispo?.token(-3, worse, settings)).toEqual({ loss: -0.8 * 3, slope: 0.8 });
  });

  it('give every token of GSPO the ratio of its sequence', () => {
    const { gspo } = lossFunctions;
    const inputs = {
      logprobs: Float32Array.of(-5, -2, -1),
      advantages: Float32Array.of(0, 1, -2),
      sequence_ratio_mask: Float32Array.of(0, 1, 1),
    };
    const sequence = gspo?.sequence?.(Float32Array.of(-1, -1.9, -1.2), inputs) ?? NaN;
    expect(sequence).toBeCloseTo(-0.05, 6);
    const token = (advantages: number, shared: number) =>
      gspo?.token(0, { advantages, sequence: shared }, settings);
    const ratio = Math.exp(sequence);
    expect(token(1, sequence)).toEqual({ loss: -ratio, slope: -ratio });
    expect(token(-2, sequence)).toEqual({ loss: 2 * ratio, slope: 2 * ratio });
    expect(token(1, 0.5)).toEqual({ loss: -1.2, slope: 0 });
    expect(token(-1, -0.5)).toEqual({ loss: 0.8, slope: 0 });
  });
});
