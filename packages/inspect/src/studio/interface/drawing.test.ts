import fc from 'fast-check';
import { expect, it } from 'vitest';
import { drawChart } from './drawing.js';

const size = { width: 900, height: 400 };

it('gives the ticks of an axis different labels', () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5_000_000 }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: -1e9, max: 1e9, noNaN: true }),
      (start, span, value) => {
        const series = { x: [start, start + span], values: [value, value * 1.2] };
        const { xTicks, yTicks } = drawChart([series], size);
        for (const ticks of [xTicks, yTicks]) {
          const labels = ticks.map(({ text }) => text);
          expect([...new Set(labels)]).toEqual(labels);
        }
      },
    ),
  ));

it('writes ten thousand and twenty apart from ten thousand', () => {
  const { xTicks } = drawChart([{ x: [10_000, 10_100], values: [0, 1] }], size);
  expect(xTicks.map(({ text }) => text).slice(0, 3)).toEqual(['10k', '10.01k', '10.02k']);
});

it('labels zero alike beside numbers of any size', () => {
  for (const high of [0.5, 1e-6, 1e-150]) {
    const { yTicks } = drawChart([{ x: [0, 1], values: [0, high] }], size);
    expect(yTicks[0]?.text).toBe('0');
  }
});
