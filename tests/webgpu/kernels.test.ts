import { describe, expect, test } from 'vitest';
import { Graph, type Value } from '../../packages/engine-onnx/src/onnx/graph/graph.js';
import { matmul } from '../../packages/engine-onnx/src/onnx/ops/matmul.js';
import { scatterElements } from '../../packages/engine-onnx/src/onnx/ops/select.js';
import { foldGroups } from '../../packages/engine-webgpu/src/kernels/kernel.js';
import { product } from '../../packages/engine-webgpu/src/kernels/product.js';
import { noSwiftShader } from '../support/src/gpu/swiftshader.js';
import { openRuntime } from './support/device.js';
import { difference, floats, integers, wave, type Inputs, type Outputs } from './support/graphs.js';

/** Runs a graph that `build` makes from its inputs. */
async function run(
  inputs: Inputs,
  build: (graph: Graph, values: Record<string, Value>) => Record<string, Value>,
): Promise<Outputs> {
  const graph = new Graph();
  const values = Object.entries(inputs).map(
    ([name, { dtype, shape }]) => [name, graph.input(name, dtype, shape)] as const,
  );
  for (const [name, value] of Object.entries(build(graph, Object.fromEntries(values))))
    graph.output(name, value);
  const runtime = await openRuntime();
  const loaded = await runtime.load(graph.record(), 'train');
  const outputs = await loaded.run(inputs);
  const found: Record<string, Outputs[string]> = {};
  for (const [name, array] of Object.entries(outputs)) {
    found[name] = await runtime.read(array);
    array.free();
  }
  await loaded.free();
  return found;
}

const sum = (count: number, term: (i: number) => number): number => {
  let total = 0;
  for (let i = 0; i < count; i++) total += term(i);
  return total;
};

describe.skipIf(noSwiftShader)('kernels against float64', () => {
  describe('products at the edges of tiles', () => {
    test.each([
      [1, 1, 1, 'NN'],
      [1, 33, 300, 'NT'],
      [31, 32, 33, 'NN'],
      [32, 31, 65, 'TN'],
      [33, 65, 31, 'NT'],
      [65, 1, 33, 'NN'],
      [65, 33, 600, 'NT'],
      [7, 1, 1500, 'NT'],
      [65, 65, 257, 'TN'],
    ] as const)('%d x %d over %d, %s', async (m, n, k, kind) => {
      const [transposeA, transposeB] = [kind[0] === 'T', kind[1] === 'T'];
      const batch = 2;
      const [a, b] = [wave(batch * m * k), wave(batch * k * n, 1)];
      const inputs = {
        a: floats([batch, ...(transposeA ? [k, m] : [m, k])], a),
        b: floats([batch, ...(transposeB ? [n, k] : [k, n])], b),
      };
      const { y } = await run(inputs, (_, values) => ({
        y: matmul(values['a']!, values['b']!, { transposeA, transposeB, alpha: 0.5 }),
      }));
      const expected = Array.from({ length: batch * m * n }, (_, i) => {
        const [matrix, row, column] = [Math.floor(i / (m * n)), Math.floor(i / n) % m, i % n];
        const left = (at: number) =>
          a[matrix * m * k + (transposeA ? at * m + row : row * k + at)]!;
        const right = (at: number) =>
          b[matrix * n * k + (transposeB ? column * k + at : at * n + column)]!;
        return 0.5 * sum(k, (at) => left(at) * right(at));
      });
      expect(difference(y!, expected)).toBeLessThan(2e-6);
    });

    test('a row has the same bits among any number of rows, and a column among any number of columns', async () => {
      const [k, most] = [600, 65];
      const [a, b] = [wave(most * k), wave(most * k, 1)];
      const multiply = async (m: number, n: number) => {
        const inputs = {
          a: floats([m, k], a.slice(0, m * k)),
          b: floats([n, k], b.slice(0, n * k)),
        };
        const { y } = await run(inputs, (_, values) => ({
          y: matmul(values['a']!, values['b']!, { transposeB: true }),
        }));
        return y as Float32Array;
      };
      const whole = await multiply(most, most);
      for (const [m, n] of [
        [1, 65],
        [2, 65],
        [17, 33],
        [65, 1],
        [3, 1],
      ] as const) {
        const part = await multiply(m, n);
        const expected = part.map((_, i) => whole[Math.floor(i / n) * most + (i % n)]!);
        expect(part).toEqual(expected);
      }
    });

    test('blocks of K are added by one kernel or by two, to the same bits', async () => {
      const [m, n, k, many] = [17, 5, 300, 130];
      const [a, b] = [wave(many * m * k), wave(many * n * k, 1)];
      const multiply = async (batch: number) => {
        const inputs = {
          a: floats([batch, m, k], a.slice(0, batch * m * k)),
          b: floats([batch, n, k], b.slice(0, batch * n * k)),
        };
        const { y } = await run(inputs, (_, values) => ({
          y: matmul(values['a']!, values['b']!, { transposeB: true, alpha: 0.3 }),
        }));
        return y as Float32Array;
      };
      const inTwo = [1, many].map((batch) => {
        const sizes = { batch, rows: m, columns: n, depth: k, alpha: 0.3 };
        return product({ ...sizes, transposeA: false, transposeB: true }).partials !== undefined;
      });
      expect(inTwo).toEqual([true, false]);
      expect((await multiply(many)).slice(0, m * n)).toEqual(await multiply(1));
    });
  });

  test('elementwise operators', async () => {
    const x = wave(33).map((value) => 4 * value);
    const erf = (value: number): number =>
      sum(60, (n) => {
        const term = value ** (2 * n + 1) / (2 * n + 1);
        let factorial = 1;
        for (let i = 2; i <= n; i++) factorial *= i;
        return ((-1) ** n * term) / factorial;
      }) *
      (2 / Math.sqrt(Math.PI));
    const formulas: Record<string, (value: number) => number> = {
      Neg: (value) => -value,
      Exp: Math.exp,
      Sigmoid: (value) => 1 / (1 + Math.exp(-value)),
      Reciprocal: (value) => 1 / value,
      Tanh: Math.tanh,
      Erf: erf,
    };
    const found = await run({ x: floats([33], x) }, (graph, { x: value }) =>
      Object.fromEntries(
        Object.keys(formulas).map((type) => [type, graph.node(type, [value!], { shape: [33] })]),
      ),
    );
    const wrong = Object.entries(formulas).filter(
      ([type, formula]) => !(difference(found[type]!, Array.from(x, formula)) < 1e-6),
    );
    expect(wrong).toEqual([]);
  });

  test('extreme numbers stay finite', async () => {
    const x = floats([6], Float32Array.of(-1e9, -200, -1e-6, 1e-6, 200, 1e9));
    const { sigmoid, tanh, softmax } = await run({ x }, (graph, { x: value }) => ({
      sigmoid: graph.node('Sigmoid', [value!], { shape: [6] }),
      tanh: graph.node('Tanh', [value!], { shape: [6] }),
      softmax: graph.node('Softmax', [value!], { shape: [6] }),
    }));
    expect(difference(sigmoid!, [0, 0, 0.5, 0.5, 1, 1])).toBeLessThan(1e-6);
    expect(Math.abs(Number(tanh![3]) - 1e-6)).toBeLessThan(1e-12);
    expect([...(tanh as Float32Array)].map(Math.round)).toEqual([-1, -1, -0, 0, 1, 1]);
    expect([...(softmax as Float32Array)]).toEqual([0, 0, 0, 0, 0, 1]);
  });

  test('operands repeat along dimensions of size 1 and in front', async () => {
    const [a, b, c] = [wave(2 * 3 * 5), wave(2 * 5, 1), wave(5, 2)];
    const inputs = { a: floats([2, 3, 5], a), b: floats([2, 1, 5], b), c: floats([5], c) };
    const { sum: found, mask } = await run(inputs, (graph, values) => {
      const shape = [2, 3, 5];
      const product = graph.node('Mul', [values['a']!, values['b']!], { shape });
      const test_ = graph.node('Less', [values['c']!, values['a']!], { shape, dtype: 'bool' });
      const options = [test_, product, graph.scalar(-7)];
      return {
        sum: graph.node('Sub', [values['c']!, product], { shape }),
        mask: graph.node('Where', options, { shape, dtype: 'float32' }),
      };
    });
    const product = Array.from(a, (value, i) => value * b[Math.floor(i / 15) * 5 + (i % 5)]!);
    expect(
      difference(
        found!,
        product.map((value, i) => c[i % 5]! - value),
      ),
    ).toBeLessThan(1e-6);
    const expected = product.map((value, i) => (c[i % 5]! < a[i]! ? value : -7));
    expect(difference(mask!, expected)).toBeLessThan(1e-6);
  });

  describe('rows', () => {
    test.each([1, 31, 33, 129, 300])('of %d numbers', async (width) => {
      const rows = 3;
      const x = wave(rows * width).map((value) => 3 * value);
      const weight = wave(width, 1);
      const found = await run(
        { x: floats([rows, width], x), w: floats([width], weight) },
        (graph, values) => {
          const [a, w] = [values['x']!, values['w']!];
          const same = { shape: a.shape };
          const attributes = { axis: -1, epsilon: { float: 1e-6 } };
          const [norm, r] = graph.nodes(
            'SimplifiedLayerNormalization',
            [a, w],
            [same, { shape: [rows, 1] }],
            { attributes },
          );
          const axes = graph.integers([1]);
          return {
            softmax: graph.node('Softmax', [a], same),
            log: graph.node('LogSoftmax', [a], same),
            norm: norm!,
            r: r!,
            sum: graph.node('ReduceSum', [a, axes], { shape: [rows, 1] }),
            max: graph.node('ReduceMax', [a, axes], { shape: [rows, 1] }),
            columns: graph.node('ReduceSum', [a, graph.integers([0])], { shape: [1, width] }),
            running: graph.node('CumSum', [a, graph.constant(BigInt64Array.of(1n), [])], same),
          };
        },
      );
      const row = (i: number) => Array.from(x.subarray(i * width, (i + 1) * width));
      const each = <T>(of: (numbers: readonly number[]) => readonly T[]) =>
        Array.from({ length: rows }, (_, i) => of(row(i))).flat();
      const total = (numbers: readonly number[]) =>
        sum(numbers.length, (i) => Math.exp(numbers[i]!));
      const scale = (numbers: readonly number[]) =>
        1 / Math.sqrt(sum(width, (i) => numbers[i]! ** 2) / width + 1e-6);
      const expected: Record<string, readonly number[]> = {
        softmax: each((numbers) => numbers.map((value) => Math.exp(value) / total(numbers))),
        log: each((numbers) => numbers.map((value) => value - Math.log(total(numbers)))),
        norm: each((numbers) => numbers.map((value, i) => value * scale(numbers) * weight[i]!)),
        r: each((numbers) => [scale(numbers)]),
        sum: each((numbers) => [sum(width, (i) => numbers[i]!)]),
        max: each((numbers) => [Math.max(...numbers)]),
        columns: Array.from({ length: width }, (_, i) => sum(rows, (k) => row(k)[i]!)),
        running: each((numbers) => numbers.map((_, i) => sum(i + 1, (k) => numbers[k]!))),
      };
      const wrong = Object.entries(expected).filter(
        ([name, numbers]) => !(difference(found[name]!, numbers) < 5e-6),
      );
      expect(wrong).toEqual([]);
    });

    test('masked numbers at the end of a row change no bit', async () => {
      const x = wave(3 * 40);
      const padded = Float32Array.from({ length: 3 * 200 }, (_, i) =>
        i % 200 < 40 ? x[Math.floor(i / 200) * 40 + (i % 200)]! : -1e9,
      );
      const soften = async (numbers: Float32Array, width: number) => {
        const { y } = await run({ x: floats([3, width], numbers) }, (graph, values) => ({
          y: graph.node('Softmax', [values['x']!], { shape: [3, width] }),
        }));
        return y as Float32Array;
      };
      const [short, long] = [await soften(x, 40), await soften(padded, 200)];
      expect(long.filter((_, i) => i % 200 < 40)).toEqual(short);
      expect(long.filter((_, i) => i % 200 >= 40).every((value) => value === 0)).toBe(true);
    });
  });

  test('moves', async () => {
    const x = wave(2 * 3 * 4);
    const int64 = (graph: Graph, ...numbers: number[]) => graph.integers(numbers);
    const { transposed, sliced, last, padded, lower, expanded, joined } = await run(
      { x: floats([2, 3, 4], x) },
      (graph, values) => {
        const a = values['x']!;
        const slice = (from: number, to: number, axis: number, shape: number[]) =>
          graph.node('Slice', [a, int64(graph, from), int64(graph, to), int64(graph, axis)], {
            shape,
          });
        const part = slice(1, 3, 2, [2, 3, 2]);
        const row = graph.node('Slice', [a, int64(graph, 0), int64(graph, 1), int64(graph, 1)], {
          shape: [2, 1, 4],
        });
        return {
          transposed: graph.node(
            'Transpose',
            [a],
            { shape: [4, 2, 3] },
            { attributes: { perm: [2, 0, 1] } },
          ),
          sliced: part,
          last: slice(-1, 2 ** 40, 1, [2, 1, 4]),
          padded: graph.node('Pad', [a, int64(graph, 0, 1, 0, 0, 0, 2)], { shape: [2, 4, 6] }),
          lower: graph.node(
            'Trilu',
            [a, graph.constant(BigInt64Array.of(-1n), [])],
            { shape: a.shape },
            { attributes: { upper: 0 } },
          ),
          expanded: graph.node('Expand', [row, int64(graph, 2, 3, 4)], { shape: a.shape }),
          joined: graph.node(
            'Concat',
            [part, a],
            { shape: [2, 3, 6] },
            { attributes: { axis: 2 } },
          ),
        };
      },
    );
    const at = (i: number, j: number, k: number) => x[i * 12 + j * 4 + k]!;
    const cube = (dims: readonly number[], of: (i: number, j: number, k: number) => number) =>
      Float32Array.from({ length: dims[0]! * dims[1]! * dims[2]! }, (_, n) =>
        of(
          Math.floor(n / (dims[1]! * dims[2]!)),
          Math.floor(n / dims[2]!) % dims[1]!,
          n % dims[2]!,
        ),
      );
    expect(transposed).toEqual(cube([4, 2, 3], (i, j, k) => at(j, k, i)));
    expect(sliced).toEqual(cube([2, 3, 2], (i, j, k) => at(i, j, k + 1)));
    expect(last).toEqual(cube([2, 1, 4], (i, _, k) => at(i, 2, k)));
    expect(padded).toEqual(cube([2, 4, 6], (i, j, k) => (j > 0 && k < 4 ? at(i, j - 1, k) : 0)));
    expect(lower).toEqual(cube([2, 3, 4], (i, j, k) => (k - j <= -1 ? at(i, j, k) : 0)));
    expect(expanded).toEqual(cube([2, 3, 4], (i, _, k) => at(i, 0, k)));
    expect(joined).toEqual(
      cube([2, 3, 6], (i, j, k) => (k < 2 ? at(i, j, k + 1) : at(i, j, k - 2))),
    );
  });

  test('matrices of int64 constants are joined along an axis', async () => {
    const { y } = await run({}, (graph) => {
      const [a, b] = [BigInt64Array.of(1n, 2n), BigInt64Array.of(3n, 4n)].map((numbers) =>
        graph.constant(numbers, [2, 1]),
      ) as [Value, Value];
      const shape = { shape: [2, 2], dtype: 'int64' as const };
      return { y: graph.node('Concat', [a, b], shape, { attributes: { axis: 1 } }) };
    });
    expect(y).toEqual(BigInt64Array.of(1n, 3n, 2n, 4n));
  });

  test('an int64 constant that does not fit into 32 bits is refused', async () => {
    await expect(
      run({}, (graph) => {
        const large = graph.constant(BigInt64Array.of(2n ** 31n), [1]);
        return { y: graph.node('Identity', [large], large) };
      }),
    ).rejects.toThrow('The number 2147483648 does not fit into 32 bits.');
  });

  test('indices', async () => {
    const x = Float32Array.of(3, 1, 3, -2, 5, 0, 5, 5);
    const inputs = { x: floats([2, 4], x), i: integers([2, 2], Int32Array.of(2, 2, 0, 3)) };
    const { rows, picked, set, added, values, order } = await run(inputs, (graph, given) => {
      const [a, i] = [given['x']!, given['i']!];
      const [values_, order_] = graph.nodes(
        'TopK',
        [a, graph.integers([3])],
        [{ shape: [2, 3] }, { shape: [2, 3], dtype: 'int64' }],
      );
      const ones = graph.constant(Float32Array.of(10, 20, 30, 40), [2, 2]);
      return {
        rows: graph.node('Gather', [a, i], { shape: [2, 2, 2] }, { attributes: { axis: 1 } }),
        picked: graph.node(
          'GatherElements',
          [a, i],
          { shape: [2, 2] },
          { attributes: { axis: 1 } },
        ),
        set: scatterElements(a, i, ones, { axis: 1 }),
        added: scatterElements(a, i, ones, { axis: 1, reduction: 'add' }),
        values: values_!,
        order: order_!,
      };
    });
    expect(rows).toEqual(Float32Array.of(3, 3, 3, -2, 5, 5, 5, 5));
    expect(picked).toEqual(Float32Array.of(3, 3, 5, 5));
    expect(set).toEqual(Float32Array.of(3, 1, 20, -2, 30, 0, 5, 40));
    expect(added).toEqual(Float32Array.of(3, 1, 33, -2, 35, 0, 5, 45));
    expect(values).toEqual(Float32Array.of(3, 3, 1, 5, 5, 5));
    expect(order).toEqual(BigInt64Array.of(0n, 2n, 1n, 0n, 2n, 3n));
  });

  test('more than 65,535 workgroups', async () => {
    const count = 65_536 * 64 + 5;
    const x = Float32Array.from({ length: count }, (_, i) => i % 1000);
    const { y } = await run({ x: floats([count], x) }, (graph, values) => ({
      y: graph.node('Neg', [values['x']!], { shape: [count] }),
    }));
    expect(y!.length).toBe(count);
    expect((y as Float32Array).every((value, i) => value === -(i % 1000))).toBe(true);
  });
});

test.each([1, 65_535, 65_536, 200_000, 65_535 * 65_535])(
  '%d workgroups fit into two dimensions',
  (count) => {
    const [x, y] = foldGroups(count);
    expect(Math.max(x, y)).toBeLessThanOrEqual(65_535);
    expect(x * y).toBeGreaterThanOrEqual(count);
    expect(x * (y - 1)).toBeLessThan(count);
  },
);
