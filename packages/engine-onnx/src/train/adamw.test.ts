import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ParameterSpec } from '../model/parameters.js';
import { globalNorm } from '../runtime/onnx-runtime.js';
import { updateRange } from '../runtime/update-range.js';
import { clipScale, planUpdate, type AdamWOptions, type OptimizerState } from './adamw.js';

const matrix: ParameterSpec = { name: 'm', shape: [1, 2], offset: 0, size: 2 };
const vector: ParameterSpec = { name: 'v', shape: [2], offset: 2, size: 2 };
const options: AdamWOptions = {
  learningRate: 0.1,
  betas: [0.9, 0.99],
  epsilon: 1e-8,
  weightDecay: 0.5,
  gradientScale: 1,
};
const fresh = (): OptimizerState => ({
  step: 0,
  first: new Float32Array(4),
  second: new Float32Array(4),
});

function adamW(
  from: Float32Array,
  to: Float32Array,
  gradient: Float32Array,
  state: OptimizerState,
): void {
  const plan = { ...planUpdate([matrix, vector], state, options), sizes: [2, 2] };
  updateRange({ ...state, from, to, gradient }, plan, { start: 0, end: 4 });
}

test('the first step moves against the sign of the gradient by the learning rate, whatever the size of the gradient', () => {
  const weights = Float32Array.of(0, 0, 0, 0);
  const state = fresh();
  adamW(weights, weights, Float32Array.of(1e-3, -5, 200, 0), state);
  expect([...weights].map((x) => Number(x.toFixed(5)))).toEqual([-0.1, 0.1, -0.1, 0]);
  expect(state.step).toBe(1);
});

test('decay shrinks matrices and leaves vectors alone', () => {
  const weights = Float32Array.of(1, 2, 1, 2);
  adamW(weights, weights, new Float32Array(4), fresh());
  expect([...weights]).toEqual([Math.fround(0.95), Math.fround(1.9), 1, 2]);
});

test('writing elsewhere leaves the old weights and gives the same numbers', () => {
  fc.assert(
    fc.property(
      fc.array(fc.float({ noNaN: true, noDefaultInfinity: true, min: -10, max: 10 }), {
        minLength: 8,
        maxLength: 8,
      }),
      (numbers) => {
        const [from, gradient] = [
          Float32Array.from(numbers.slice(0, 4)),
          Float32Array.from(numbers.slice(4)),
        ];
        const [inPlace, to] = [from.slice(), new Float32Array(4)];
        adamW(inPlace, inPlace, gradient, fresh());
        adamW(from, to, gradient, fresh());
        expect(to).toEqual(inPlace);
        expect(from).toEqual(Float32Array.from(numbers.slice(0, 4)));
      },
    ),
  );
});

test('the norm is summed in float64: squares beyond float32 do not overflow, small ones do not vanish', () => {
  expect(globalNorm(Float32Array.of(3e30, 4e30))).toBeCloseTo(5e30, -26);
  expect(globalNorm(new Float32Array(1e6).fill(1e-3))).toBeCloseTo(1, 6);
});

test('clipping scales to the limit, and 0 means no limit', () => {
  expect(clipScale(4, 1)).toBeCloseTo(0.25, 6);
  expect(clipScale(0.5, 1)).toBe(1);
  expect(clipScale(1e9, 0)).toBe(1);
});
