/** Updates divided among threads. */
import { expect, test } from 'vitest';
import { planUpdate, type AdamWOptions } from '../train/adamw.js';
import { isShared, leastShared, sharedNumbers } from './shared-numbers.js';
import { updateRange } from './update-range.js';
import { UpdateThreads } from './update-threads.js';

const size = leastShared + 1001;
const half = Math.floor(size / 2);
const specs = [
  { name: 'matrix', shape: [half, 1], offset: 0, size: half },
  { name: 'norm', shape: [size - half], offset: half, size: size - half },
];
const options: AdamWOptions = {
  learningRate: 0.01,
  betas: [0.9, 0.95],
  epsilon: 1e-8,
  weightDecay: 0.1,
  gradientScale: 0.5,
};

function numbers(seed: number): Float32Array {
  const array = sharedNumbers(size);
  for (let i = 0; i < size; i++) array[i] = Math.sin(seed * i);
  return array;
}

test.each([1, 2, 16])('%i threads compute the numbers of one', async (count) => {
  const expected = numbers(1).slice();
  const one = { first: new Float32Array(size), second: new Float32Array(size) };
  const [from, gradient] = [numbers(1), numbers(2)];
  const state = { step: 0, first: sharedNumbers(size), second: sharedNumbers(size) };
  const threads = new UpdateThreads(count);
  for (let step = 0; step < 2; step++) {
    const { first, second } = state;
    const plan = { ...planUpdate(specs, state, options), sizes: specs.map((spec) => spec.size) };
    const alone = { from: expected, to: expected, gradient, first: one.first, second: one.second };
    updateRange(alone, plan, { start: 0, end: size });
    await threads.update({ from, to: from, gradient, first, second }, plan);
  }
  await threads.close();
  expect([from, state.first, state.second].every(isShared)).toBe(true);
  expect(from.findIndex((x, i) => x !== expected[i])).toBe(-1);
  expect(state.second.findIndex((x, i) => x !== one.second[i])).toBe(-1);
});

test('arrays that are not shared are updated in this thread', async () => {
  const from = Float32Array.of(1, 2);
  const gradient = Float32Array.of(1, -1);
  const state = { step: 0, first: new Float32Array(2), second: new Float32Array(2) };
  const plan = { ...planUpdate([{ name: 'w', shape: [2] }], state, options), sizes: [2] };
  const threads = new UpdateThreads(2);
  const { first, second } = state;
  await threads.update({ from, to: from, gradient, first, second }, plan);
  expect([...from].map((x) => x.toFixed(3))).toEqual(['0.990', '2.010']);
});
