import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { product } from './dims.js';
import { Graph } from './graph.js';
import { add, multiply, negate } from '../ops/elementwise.js';
import { rowDot } from '../ops/matmul.js';
import { concat, reshape } from '../ops/shape.js';

async function run(graph: Graph, feeds: Record<string, Tensor>) {
  const session = await InferenceSession.create(graph.encode());
  const out = await session.run(feeds);
  await session.release();
  return out;
}

const matrix = (shape: [number, number]) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => i),
    shape,
  );

describe('a graph', () => {
  test('runs with any size of its symbols', async () => {
    const graph = new Graph();
    const a = graph.input('a', 'float32', ['R', 3]);
    graph.output('y', add(a, graph.scalar(1)));
    const session = await InferenceSession.create(graph.encode());
    for (const rows of [1, 4]) {
      const { y } = await session.run({ a: matrix([rows, 3]) });
      expect(y!.dims).toEqual([rows, 3]);
      expect(y!.data).toEqual(Float32Array.from({ length: rows * 3 }, (_, i) => i + 1));
    }
    await session.release();
  });

  test('returns an input, or one value under two names', async () => {
    const graph = new Graph();
    const a = graph.input('a', 'float32', [1, 2]);
    const b = negate(a);
    graph.output('same', a);
    graph.output('once', b);
    graph.output('twice', b);
    const out = await run(graph, { a: matrix([1, 2]) });
    expect(
      Object.fromEntries(
        Object.entries(out).map(([name, { data }]) => [name, [...(data as Float32Array)]]),
      ),
    ).toEqual({
      same: [0, 1],
      once: [-0, -1],
      twice: [-0, -1],
    });
  });

  test('keeps inputs that nothing needs, so that feeds do not depend on the use', async () => {
    const graph = new Graph();
    const a = graph.input('a', 'float32', [1, 1]);
    graph.input('unused', 'float32', [1, 1]);
    graph.output('y', negate(a));
    expect((await run(graph, { a: matrix([1, 1]), unused: matrix([1, 1]) }))['y']!.data).toEqual(
      Float32Array.of(-0),
    );
  });

  test('stores equal constants once', () => {
    const graph = new Graph();
    expect(graph.constant(Float32Array.of(1, 2), [2])).toBe(
      graph.constant(Float32Array.of(1, 2), [2]),
    );
    expect(graph.constant(Float32Array.of(1, 2), [1, 2])).not.toBe(
      graph.constant(Float32Array.of(1, 2), [2]),
    );
    expect(graph.constant(Float32Array.of(1), [1])).not.toBe(graph.constant(Int32Array.of(1), [1]));
  });

  test('rejects names that are taken and symbols that no input has', () => {
    const graph = new Graph();
    const a = graph.input('a', 'float32', ['R']);
    expect(() => graph.input('a', 'float32', [1])).toThrow('already has an input "a"');
    expect(() => graph.output('a', a)).toThrow('already has an input or output "a"');
    expect(() => graph.size('Q')).toThrow('No input of the graph has the dimension "Q"');
  });
});

test('a reshape with two unknown sizes reads them when it runs', async () => {
  const graph = new Graph();
  const a = graph.input('a', 'float32', ['R', 'C']);
  const flat = reshape(a, ['R*C']);
  graph.output('y', reshape(flat, [1, 'R', 'C']));
  const { y } = await run(graph, { a: matrix([2, 3]) });
  expect(y!.dims).toEqual([1, 2, 3]);
});

test('row products sum over the last dimension', async () => {
  const graph = new Graph();
  const a = graph.input('a', 'float32', ['R', 3]);
  graph.output('dot', rowDot(a, a));
  graph.output('sum', add(multiply(a, a), a));
  expect((await run(graph, { a: matrix([2, 3]) }))['dot']!.data).toEqual(Float32Array.of(5, 50));
});

test('concat joins along an axis, and one value is itself', async () => {
  const graph = new Graph();
  const a = graph.input('a', 'float32', ['R', 2]);
  expect(concat([a], 1, 2)).toBe(a);
  graph.output('y', concat([a, negate(a)], 1, 4));
  expect((await run(graph, { a: matrix([1, 2]) }))['y']!.data).toEqual(
    Float32Array.of(0, 1, -0, -1),
  );
});

test('products of dimensions have one spelling', () => {
  expect(product([2, 'B', 3, 'T'])).toBe('6*B*T');
  expect(product([1, 'B'])).toBe('B');
  expect(product([2, 3])).toBe(6);
});
