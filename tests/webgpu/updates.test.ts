import { describe, expect, test } from 'vitest';
import { Graph } from '../../packages/engine-onnx/src/onnx/graph/graph.js';
import { noSwiftShader } from '../support/src/gpu/swiftshader.js';
import { openRuntime } from './support/device.js';
import { difference, floats, wave } from './support/graphs.js';

const shapes = [
  { name: 'w', shape: [5, 7] },
  { name: 'b', shape: [7] },
];
const size = 42;

describe.skipIf(noSwiftShader)('arrays on a device', () => {
  test('are read as they were written', async () => {
    const runtime = await openRuntime();
    const floating = runtime.array(floats([3, 4], wave(12)));
    const data = BigInt64Array.of(-1n, 2n ** 31n - 1n, 0n);
    const whole = runtime.array({ dtype: 'int64', shape: [3], data });
    expect(await runtime.read(floating)).toEqual(wave(12));
    expect(await runtime.read(whole)).toEqual(data);
    expect(await runtime.read(runtime.rows(floating, 1, 3))).toEqual(wave(12).slice(4));
    const large = { dtype: 'int64' as const, shape: [1], data: BigInt64Array.of(2n ** 31n) };
    expect(() => runtime.array(large)).toThrow('The number 2147483648 does not fit into 32 bits.');
    floating.free();
    whole.free();
  });

  test('sets are copied and read as one array', async () => {
    const runtime = await openRuntime();
    const [a, b] = [runtime.set(shapes, wave(size)), runtime.set(shapes)];
    runtime.copySet(b, 'zeros');
    expect(await runtime.readSet(b)).toEqual(new Float32Array(size));
    runtime.copySet(b, a);
    expect(await runtime.readSet(b)).toEqual(wave(size));
    a.free();
    // The memory of a freed set is used again, after the commands that read it.
    const again = runtime.set(shapes, wave(size, 2));
    expect(await runtime.readSet(b)).toEqual(wave(size));
    again.free();
    b.free();
  });

  test('sums, and rows of a table by ids', async () => {
    const runtime = await openRuntime();
    const [table, rows] = [wave(6 * 5), wave(4 * 5, 1)];
    const target = runtime.array(floats([6, 5], table.slice()));
    const ids = Int32Array.of(3, 1, 3, 0);
    const taken = runtime.takeRows(target, ids, 2, [4, 5]);
    expect(await runtime.read(taken)).toEqual(
      Float32Array.from(
        { length: 20 },
        (_, i) => 2 * table[ids[Math.floor(i / 5)]! * 5 + (i % 5)]!,
      ),
    );
    const added = runtime.array(floats([4, 5], rows.slice()));
    runtime.addRows(target, added, ids, 0.5);
    runtime.add(runtime.rows(target, 4, 6), runtime.rows(added, 1, 3));
    const expected = Array.from(table);
    for (const [i, id] of ids.entries())
      for (let j = 0; j < 5; j++) expected[id * 5 + j]! += 0.5 * rows[i * 5 + j]!;
    for (let i = 0; i < 10; i++) expected[20 + i]! += rows[5 + i]!;
    expect(difference((await runtime.read(target)) as Float32Array, expected)).toBeLessThan(1e-6);
    for (const array of [target, taken, added]) array.free();
  });

  test('the norm of a set finds numbers that are not finite', async () => {
    const runtime = await openRuntime();
    const long = [{ name: 'long', shape: [100_003] }, ...shapes];
    const numbers = wave(100_003 + size);
    const set = runtime.set(long, numbers);
    const expected = Math.hypot(...numbers.subarray(0, 50_000), ...numbers.subarray(50_000));
    expect(await runtime.norm(set)).toBeCloseTo(expected, 3);
    for (const broken of [NaN, Infinity, -Infinity]) {
      runtime.copySet(set, numbers.with(100_020, broken));
      expect(await runtime.norm(set)).toBeNaN();
    }
    set.free();
  });

  test('a graph reads and writes views, and arrays that it also reads', async () => {
    const runtime = await openRuntime();
    const graph = new Graph();
    const x = graph.input('x', 'float32', ['R', 3]);
    graph.output('twice', graph.node('Add', [x, x], x));
    graph.output('same', x);
    const loaded = await runtime.load(graph.record(), 'train');
    const numbers = wave(15);
    const array = runtime.array(floats([5, 3], numbers.slice()));
    // The view covers bytes 12 to 36, and no WebGPU binding may begin at byte 12.
    const view = runtime.rows(array, 1, 3);
    const out = await loaded.run({ x: view }, { twice: view });
    expect(await runtime.read(out['same']!)).toEqual(numbers.slice(3, 9));
    expect(await runtime.read(array)).toEqual(
      numbers.map((value, i) => (i >= 3 && i < 9 ? 2 * value : value)),
    );
    await expect(loaded.run({ x: view }, { twice: array })).rejects.toThrow(
      'The output "twice" has the shape [2, 3]; the array given for it has [5, 3].',
    );
    await loaded.free();
    array.free();
  });

  test('five steps of AdamW', async () => {
    const runtime = await openRuntime();
    const [start, betas, epsilon] = [wave(size), [0.9, 0.99] as const, 1e-8];
    const weights = {
      w: Array.from(start),
      m: Array.from(start, () => 0),
      v: Array.from(start, () => 0),
    };
    const sets = { first: runtime.set(shapes), second: runtime.set(shapes) };
    runtime.copySet(sets.first, 'zeros');
    runtime.copySet(sets.second, 'zeros');
    let from = runtime.set(shapes, start.slice());
    for (let step = 1; step <= 5; step++) {
      const gradient = runtime.set(shapes, wave(size, step));
      const plan = {
        betas,
        epsilon,
        gradientScale: 0.7,
        stepSize: 1e-2 / (1 - betas[0] ** step),
        rootCorrection: Math.sqrt(1 - betas[1] ** step),
        keep: [0.999, 1],
      };
      // The updated weights are written in place, over the gradient, or into other arrays.
      const to = [from, gradient, runtime.set(shapes)][step % 3]!;
      await runtime.adamW({ ...sets, from, to, gradient }, plan);
      from = to;
      const g = wave(size, step).map((x) => x * 0.7);
      for (let i = 0; i < size; i++) {
        weights.m[i] = 0.9 * weights.m[i]! + 0.1 * g[i]!;
        weights.v[i] = 0.99 * weights.v[i]! + 0.01 * g[i]! ** 2;
        const change = weights.m[i]! / (Math.sqrt(weights.v[i]!) / plan.rootCorrection + epsilon);
        weights.w[i] = weights.w[i]! * plan.keep[i < 35 ? 0 : 1]! - plan.stepSize * change;
      }
    }
    expect(difference(await runtime.readSet(from), weights.w)).toBeLessThan(1e-6);
  });

  test.each(['another cache', 'the same cache'])(
    'states of rows without positions are copied from %s',
    async (name) => {
      const runtime = await openRuntime();
      const states = [{ name: 'conv.0', shape: [2] }];
      const layout = { inputs: [{ name: 'k.0', width: 2 }], heads: 1, capacity: 4, states };
      const cache = runtime.cache(layout);
      cache.reserve(3);
      const fresh = {
        keyValues: runtime.array(floats([1, 1, 1, 2], wave(2))),
        states: [runtime.array(floats([1, 2], wave(2)))],
      };
      const all = [0, 1].map((to) => ({ from: 0, to, position: 0, length: 1 }));
      cache.store(fresh, all);
      const empty = runtime.cache({ ...layout, capacity: 2 });
      empty.reserve(3);
      const from = name === 'the same cache' ? cache : empty;
      const move = { from: 2, position: 0, length: 0 };
      cache.copy(from, [{ ...move, to: 0 }]);
      const feeds = cache.feeds(0, 2) as Record<string, Parameters<typeof runtime.read>[0]>;
      expect(await runtime.read(feeds['conv.0']!)).toEqual(Float32Array.of(0, 0, ...wave(2)));
      expect(((await runtime.read(feeds['k.0']!)) as Float32Array).slice(0, 2)).toEqual(wave(2));
      cache.free();
      empty.free();
    },
  );

  test('a cache keeps its rows when it grows, and moves them', async () => {
    const runtime = await openRuntime();
    const layout = {
      inputs: ['k.0', 'v.0'].map((name) => ({ name, width: 3 })),
      heads: 2,
      capacity: 4,
      states: [{ name: 'conv.0', shape: [2, 5] }],
    };
    const cache = runtime.cache(layout);
    cache.reserve(1);
    const fresh = {
      keyValues: runtime.array(floats([2, 4, 2, 3], wave(48))),
      states: [runtime.array(floats([2, 2, 5], wave(20, 1)))],
    };
    cache.store(fresh, [{ from: 1, to: 0, position: 1, length: 2 }]);
    cache.reserve(3);
    cache.copy(cache, [
      { from: 0, to: 2, position: 0, length: 4 },
      { from: 2, to: 1, position: 0, length: 4 },
    ]);
    cache.clear(2);
    const wider = runtime.cache({ ...layout, capacity: 6 });
    wider.reserve(1);
    wider.copy(cache, [{ from: 1, to: 0, position: 0, length: 4 }]);
    const at = (name: number, head: number, s: number, d: number): number =>
      wave(48)[24 + (name * 2 + head) * 6 + s * 3 + d]!;
    const row = (name: number, capacity: number) =>
      Float32Array.from({ length: 2 * capacity * 3 }, (_, i) => {
        const [head, s] = [Math.floor(i / (3 * capacity)), (Math.floor(i / 3) % capacity) - 1];
        return s === 0 || s === 1 ? at(name, head, s, i % 3) : 0;
      });
    const feeds = cache.feeds(1, 2) as Record<string, Parameters<typeof runtime.read>[0]>;
    expect(await runtime.read(feeds['v.0']!)).toEqual(
      Float32Array.of(...row(1, 4), ...new Float32Array(24)),
    );
    expect(await runtime.read(feeds['conv.0']!)).toEqual(
      Float32Array.of(...wave(20, 1).slice(10), ...new Float32Array(10)),
    );
    const wide = wider.feeds(0, 1) as typeof feeds;
    expect(await runtime.read(wide['k.0']!)).toEqual(row(0, 6));
    cache.free();
    wider.free();
  });
});
