import type { Curve } from '@trinity-rft/inspect/studio/interface';
import { expect, it } from 'vitest';
import { dataOf } from '../page/parts/chart-data.js';

const curveOf = (x: readonly number[], values: readonly (number | null)[]) => ({
  curve: { role: 'trainer', name: 'loss', axis: 'step', x, steps: x, values, points: 4 } as Curve,
});

it('skips what a log scale does not have, and leaves gaps only where values are not finite', () => {
  const curves = [curveOf([1, 2, 3, 4, 5], [1, -1, 2, null, 0])];
  expect(dataOf(curves, true)[1]).toEqual([1, undefined, 2, null, undefined]);
  expect(dataOf(curves, false)[1]).toEqual([1, -1, 2, null, 0]);
});

it('leaves whole gaps where another run has values between', () => {
  const [x, one, two] = dataOf(
    [curveOf([2, 4, 6], [1, null, 3]), curveOf([1, 3, 5], [7, 8, 9])],
    false,
  );
  expect(x).toEqual([1, 2, 3, 4, 5, 6]);
  expect(one).toEqual([undefined, 1, null, null, null, 3]);
  expect(two).toEqual([7, undefined, 8, undefined, 9, undefined]);
});
