import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gradientError, type Argument } from '../../test/support/numeric.js';
import { broadcastShape } from './graph/dims.js';
import { gradients } from './autodiff.js';
import { Graph, type Value } from './graph/graph.js';
import { causalAttention } from './ops/attention.js';
import { causalConvolution } from './ops/convolution.js';
import { add, exp, multiply, negate, sigmoid, subtract, swiglu } from './ops/elementwise.js';
import { linear, matmul } from './ops/matmul.js';
import { rmsNorm } from './ops/norm.js';
import { rotary } from './ops/rotary.js';
import { reshape, takeRows, transpose } from './ops/shape.js';

const size = fc.integer({ min: 1, max: 5 });
const seeds = fc.integer();
const runs = { numRuns: 6 };
/** Error of central differences in float32 with a step of 1e-2. */
const tolerance = 5e-3;

/** Two shapes that broadcast: dimensions of the second are dropped in front or replaced by 1. */
const broadcastable = fc
  .tuple(
    fc.array(size, { minLength: 1, maxLength: 4 }),
    fc.nat(3),
    fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    fc.boolean(),
  )
  .map(([shape, drop, ones, swap]) => {
    const other = shape
      .map((dim, i) => (ones[i] ? 1 : dim))
      .slice(Math.min(drop, shape.length - 1));
    return swap ? [other, shape] : [shape, other];
  }) as fc.Arbitrary<[number[], number[]]>;

describe('gradients equal central differences', () => {
  const binary: Record<string, (a: Value, b: Value) => Value> = { add, subtract, multiply };
  test.each(Object.keys(binary))('of %s over broadcast shapes', async (name) => {
    await fc.assert(
      fc.asyncProperty(broadcastable, seeds, async ([a, b], seed) => {
        expect(
          await gradientError(seed, { a: { shape: a }, b: { shape: b } }, (v) =>
            binary[name]!(v['a']!, v['b']!),
          ),
        ).toBeLessThan(tolerance);
      }),
      runs,
    );
  });

  const unary: Record<string, (a: Value) => Value> = { negate, exp, sigmoid };
  test.each(Object.keys(unary))('of %s', async (name) => {
    await fc.assert(
      fc.asyncProperty(size, size, seeds, async (rows, columns, seed) => {
        expect(
          await gradientError(seed, { a: { shape: [rows, columns] } }, (v) =>
            unary[name]!(v['a']!),
          ),
        ).toBeLessThan(tolerance);
      }),
      runs,
    );
  });

  test('of swiglu', async () => {
    await fc.assert(
      fc.asyncProperty(size, size, seeds, async (rows, columns, seed) => {
        const shape = [rows, columns];
        expect(
          await gradientError(seed, { gate: { shape }, up: { shape } }, (v) =>
            swiglu(v['gate']!, v['up']!),
          ),
        ).toBeLessThan(tolerance);
      }),
      runs,
    );
  });

  test('of matmul with either operand transposed, batched or with one shared matrix', async () => {
    const cases = fc.record({
      batch: size,
      m: size,
      k: size,
      n: size,
      ta: fc.boolean(),
      tb: fc.boolean(),
      shared: fc.boolean(),
      alpha: fc.constantFrom(1, 0.3),
      seed: seeds,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ batch, m, k, n, ta, tb, shared, alpha, seed }) => {
        const transposeA = ta && !shared;
        const b = tb ? [n, k] : [k, n];
        const args: Record<string, Argument> = {
          a: {
            shape: [batch, ...(transposeA ? [k, m] : [m, k])],
            dims: ['B', ...(transposeA ? [k, m] : [m, k])],
          },
          b: shared ? { shape: b } : { shape: [batch, ...b], dims: ['B', ...b] },
        };
        expect(
          await gradientError(seed, args, (v) =>
            matmul(v['a']!, v['b']!, { transposeA, transposeB: tb, alpha }),
          ),
        ).toBeLessThan(tolerance);
      }),
      { numRuns: 16 },
    );
  });

  test('of linear with a bias', async () => {
    await fc.assert(
      fc.asyncProperty(size, size, size, size, seeds, async (batch, time, input, output, seed) => {
        const args = {
          x: { shape: [batch, time, input], dims: ['B', 'T', input] },
          w: { shape: [output, input] },
          b: { shape: [output] },
        };
        expect(
          await gradientError(seed, args, (v) => linear(v['x']!, v['w']!, v['b']!)),
        ).toBeLessThan(tolerance);
      }),
      runs,
    );
  });

  test('of rmsNorm', async () => {
    await fc.assert(
      fc.asyncProperty(
        size,
        size,
        fc.integer({ min: 2, max: 9 }),
        seeds,
        async (batch, time, width, seed) => {
          const args = {
            x: { shape: [batch, time, width], dims: ['B', 'T', width] },
            w: { shape: [width] },
          };
          expect(
            await gradientError(seed, args, (v) => rmsNorm(v['x']!, v['w']!, 0.1)),
          ).toBeLessThan(tolerance);
        },
      ),
      runs,
    );
  });

  test('of reshape and transpose with symbols', async () => {
    await fc.assert(
      fc.asyncProperty(size, size, seeds, async (batch, time, seed) => {
        const x = { shape: [batch, time, 6], dims: ['B', 'T', 6] };
        const build = (v: Record<string, Value>) =>
          multiply(
            transpose(reshape(v['x']!, ['B', 'T', 2, 3]), [0, 2, 1, 3]),
            transpose(reshape(v['x']!, ['B', 'T', 2, 3]), [0, 2, 1, 3]),
          );
        expect(await gradientError(seed, { x }, build)).toBeLessThan(tolerance);
      }),
      runs,
    );
  });

  test('of takeRows with padding', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 5 }),
        seeds,
        async (picked, seed) => {
          const rows = Int32Array.from(picked);
          const spread = Int32Array.from({ length: 6 }, (_, i) =>
            rows.includes(i) ? rows.indexOf(i) : rows.length,
          );
          const args = {
            a: { shape: [6, 2] },
            rows: { shape: [rows.length + 1], data: Int32Array.of(...rows, 0) },
            spread: { shape: [6], data: spread },
            mask: { shape: [rows.length + 1], data: Int32Array.of(...rows.map(() => 1), 0) },
          };
          const build = (v: Record<string, Value>, graph: Graph) => {
            const mask = graph.node(
              'Cast',
              [v['mask']!],
              { shape: [rows.length + 1], dtype: 'float32' },
              { attributes: { to: 1 } },
            );
            return multiply(
              takeRows(v['a']!, v['rows']!, v['spread']!),
              reshape(mask, [rows.length + 1, 1]),
            );
          };
          expect(await gradientError(seed, args, build)).toBeLessThan(tolerance);
        },
      ),
      runs,
    );
  });

  test.each([8, 12])('of rotary that turns 8 of %d numbers', async (width) => {
    await fc.assert(
      fc.asyncProperty(size, size, size, seeds, async (batch, heads, time, seed) => {
        // The tables are data, not parameters: any numbers that are cosines and sines will do.
        const angles = Float32Array.from({ length: 5 * 4 }, (_, i) => 0.7 * i);
        const build = (v: Record<string, Value>, graph: Graph) =>
          rotary(v['x']!, graph.integers([0]), {
            cos: graph.constant(angles.map(Math.cos), [5, 4]),
            sin: graph.constant(angles.map(Math.sin), [5, 4]),
          });
        expect(
          await gradientError(
            seed,
            { x: { shape: [batch, heads, time, width], dims: ['B', heads, 'T', width] } },
            build,
          ),
        ).toBeLessThan(tolerance);
      }),
      runs,
    );
  });

  test('of causalConvolution, also of fewer positions than taps', async () => {
    await fc.assert(
      fc.asyncProperty(size, size, size, size, seeds, async (batch, time, width, taps, seed) => {
        const args = {
          x: { shape: [batch, time, width], dims: ['B', 'T', width] },
          w: { shape: [width, 1, taps] },
        };
        const build = (v: Record<string, Value>) => causalConvolution(v['x']!, v['w']!).y;
        expect(await gradientError(seed, args, build)).toBeLessThan(tolerance);
      }),
      runs,
    );
  });

  test('of causalAttention with grouped heads', async () => {
    await fc.assert(
      fc.asyncProperty(
        size,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        size,
        seeds,
        async (batch, keyHeads, group, time, seed) => {
          const keys = { shape: [batch, keyHeads, time, 4], dims: ['B', keyHeads, 'T', 4] };
          const q = {
            shape: [batch, keyHeads * group, time, 4],
            dims: ['B', keyHeads * group, 'T', 4],
          };
          expect(
            await gradientError(seed, { q, k: keys, v: keys }, (v) => {
              const mixed = causalAttention(v['q']!, v['k']!, v['v']!);
              // As the projection after it takes it, also that of a single head.
              return reshape(mixed, ['B', 'T', keyHeads * group * 4]);
            }),
          ).toBeLessThan(tolerance);
        },
      ),
      runs,
    );
  });
});

test('a value used several times gets the sum of its gradients', async () => {
  expect(
    await gradientError(1, { a: { shape: [3] } }, (v) =>
      add(multiply(v['a']!, v['a']!), exp(v['a']!)),
    ),
  ).toBeLessThan(tolerance);
});

test('a target that the seeds do not depend on is rejected', () => {
  const graph = new Graph();
  const a = graph.input('a', 'float32', [2]);
  const b = graph.input('b', 'float32', [2]);
  expect(() =>
    gradients([{ value: exp(a), gradient: graph.input('g', 'float32', [2]) }], [b]),
  ).toThrow('do not depend on a target of shape [2]');
});

test('nodes that no output needs are left out', () => {
  const graph = new Graph();
  const a = graph.input('a', 'float32', [2]);
  exp(a);
  graph.output('y', negate(a));
  expect(graph.record().nodes).toHaveLength(1);
});

test('broadcasting follows the trailing dimensions', () => {
  expect(broadcastShape(['B', 1, 3], ['T', 1])).toEqual(['B', 'T', 3]);
});
