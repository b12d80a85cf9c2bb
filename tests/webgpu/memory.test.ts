/** Tests buffers within a budget: freed buffers make room for later ones. */
import { describe, expect, test } from 'vitest';
import { Graph } from '../../packages/engine-onnx/src/onnx/graph/graph.js';
import type { DeviceArray } from '../../packages/engine-onnx/src/runtime/graph-runtime.js';
import { noSwiftShader } from '../support/src/gpu/swiftshader.js';
import { openRuntimeWith } from './support/device.js';
import { floats, wave } from './support/graphs.js';

const kibibyte = 1024;

/** An array of zeros. */
const zeros = (bytes: number) => floats([bytes / 4], new Float32Array(bytes / 4));

describe.skipIf(noSwiftShader)('a budget of memory', () => {
  test('holds arrays of growing sizes, one at a time', async () => {
    const runtime = await openRuntimeWith({ memoryBytes: 1000 * kibibyte });
    const kept = runtime.array(floats([64], new Float32Array(64)));
    for (let size = 100; size <= 900; size += 100) {
      const array = runtime.array(zeros(size * kibibyte));
      const part = runtime.rows(array, 0, 64);
      runtime.copy(part, floats([64], wave(64, size)));
      // This copy is still queued when the next array needs the memory.
      runtime.copy(kept, part);
      array.free();
    }
    expect(await runtime.read(kept)).toEqual(wave(64, 900));
    const held = runtime.array(zeros(600 * kibibyte));
    expect(() => runtime.array(zeros(600 * kibibyte))).toThrow(
      expect.objectContaining({
        code: 'ENGINE_GPU_MEMORY',
        message: expect.stringContaining('The array takes'),
      }),
    );
    held.free();
    await runtime.close();
  });

  test('is not used up by runs that fail', async () => {
    const runtime = await openRuntimeWith({ memoryBytes: 1000 * kibibyte });
    const graph = new Graph();
    const x = graph.input('x', 'float32', ['N']);
    graph.output('y', graph.node('Neg', [x], x));
    const loaded = await runtime.load(graph.record(), 'train');
    const tooSmall = runtime.array(zeros(4));
    for (let i = 0; i < 10; i++)
      await expect(loaded.run({ x: zeros(200 * kibibyte) }, { y: tooSmall })).rejects.toThrow(
        'The output "y" has the shape [51200]; the array given for it has [1].',
      );
    await runtime.close();
  });

  test('holds a cache that grows entry by entry', async () => {
    const runtime = await openRuntimeWith({ memoryBytes: 700 * kibibyte });
    // A row has four entries of 64 KiB.
    const names = ['k.0', 'v.0', 'k.1', 'v.1'];
    const inputs = names.map((name) => ({ name, width: 16 }));
    const cache = runtime.cache({ inputs, heads: 1, capacity: 1024, states: [] });
    cache.reserve(1);
    const fresh = runtime.array(floats([1, 4, 1024, 16], wave(4 * 1024 * 16)));
    cache.store({ keyValues: fresh, states: [] }, [{ from: 0, to: 0, position: 0, length: 1024 }]);
    fresh.free();
    cache.reserve(2);
    const feeds = cache.feeds(0, 1);
    for (const [i, name] of names.entries())
      expect(await runtime.read(feeds[name] as DeviceArray)).toEqual(
        wave(4 * 1024 * 16).subarray(i * 1024 * 16, (i + 1) * 1024 * 16),
      );
    cache.free();
    await runtime.close();
  });
});
