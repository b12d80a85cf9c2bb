/** Writes GGUF files and reads them back. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom } from '@trinity-rft/core';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openGguf } from '../../src/gguf/file/gguf-file.js';
import type { TypedValue } from '../../src/gguf/file/typed-value.js';
import { writeGguf, type TensorToWrite } from '../../src/gguf/file/write-file.js';
import { encodedTypes, encoderOf } from '../../src/gguf/quantization/encoders.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trinity-gguf-write-'));
const target = path.join(folder, 'model.gguf');
beforeEach(() => rmSync(target, { force: true }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whole = (min: number, max: number) => fc.integer({ min, max });
const u32 = whole(0, 2 ** 32 - 1);
const i32 = whole(-(2 ** 31), 2 ** 31 - 1);
const u64 = fc.maxSafeNat();
/** Short decimals: the reader returns the shortest decimal of a float32. */
const f32 = fc.constantFrom(0, 1e-5, 1e-6, 0.5, -3.25, 10_000, 1_000_000, 1e30);
const f64 = fc.double({ noNaN: true, noDefaultInfinity: true });
const string = fc.string({ unit: 'binary' });
const bool = fc.boolean();
const values = { u32, i32, u64, f32, f64, string, bool } as const;

const typedValue = fc.oneof(
  ...Object.entries(values).flatMap(([type, value]) => [
    (value as fc.Arbitrary<unknown>).map((each) => ({ type, value: each }) as TypedValue),
    fc
      .array(value as fc.Arbitrary<unknown>)
      .map((each) => ({ list: type, value: each }) as TypedValue),
  ]),
);
const keys = fc.dictionary(fc.string({ minLength: 1 }), typedValue);

describe('a file', () => {
  it('has the keys that were written, of every type of value', async () => {
    await fc.assert(
      fc.asyncProperty(keys, async (content) => {
        await writeGguf(target, { keys: Object.entries(content), tensors: [] });
        const file = openGguf(target);
        file.close();
        expect([...file.metadata]).toEqual(
          Object.entries(content).map(([key, { value }]) => [key, value]),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('has the tensors that were written, in every format, in parts and at multiples of 32', async () => {
    const shapes = [[2, 256], [3, 2, 512], [256], [1, 256]];
    const made = encodedTypes.flatMap((type, t) =>
      shapes.map((shape, s) => {
        const random = createRandom(10 * t + s);
        const size = shape.reduce((product, n) => product * n, 1);
        const data = Float32Array.from({ length: size }, () => random.normal());
        const parts = [data.subarray(0, 256), data.subarray(256)].filter(
          ({ length }) => length > 0,
        );
        const tensor: TensorToWrite = { name: `${type}.${s}`, shape, type, read: () => parts };
        return { tensor, data };
      }),
    );
    // The 5 numbers leave a gap before the next tensor.
    const odd: TensorToWrite = {
      name: 'odd',
      shape: [5],
      type: 'F16',
      read: async function* () {
        yield Float32Array.of(1, 2, 3);
        yield Float32Array.of(4, 5);
      },
    };
    const bytes = await writeGguf(target, {
      keys: [],
      tensors: [odd, ...made.map(({ tensor }) => tensor)],
    });
    expect(readFileSync(target)).toHaveLength(bytes);
    const file = openGguf(target);
    const read = (name: string, size: number): Float32Array => {
      const into = new Float32Array(size);
      file.read(name, into);
      return into;
    };
    expect([...read('odd', 5)]).toEqual([1, 2, 3, 4, 5]);
    for (const { tensor, data } of made) {
      const { name, shape, type } = tensor;
      expect(file.tensors.get(name)).toMatchObject({ shape, type });
      const { blockLength, blockBytes, encode, decode } = encoderOf(type);
      const block = Buffer.alloc(blockBytes);
      const expected = new Float32Array(data.length);
      for (let at = 0; at < data.length; at += blockLength) {
        encode(data, at, block.fill(0), 0);
        decode(block, expected, at);
      }
      expect(read(name, data.length)).toEqual(expected);
    }
    file.close();
  });

  it('has equal bytes for equal content', async () => {
    const content = {
      keys: [['general.name', { type: 'string', value: 'a' }]] as const,
      tensors: [{ name: 'x', shape: [4], type: 'F32', read: () => [Float32Array.of(1, 2, 3, 4)] }],
    } as const;
    await writeGguf(target, content);
    const first = readFileSync(target);
    await writeGguf(target, content);
    expect(readFileSync(target)).toEqual(first);
  });
});

describe('what cannot be written leaves the file before it:', () => {
  const tensor = (change: Partial<TensorToWrite>): TensorToWrite => ({
    name: 'x',
    shape: [4],
    type: 'F32',
    read: () => [new Float32Array(4)],
    ...change,
  });

  it.each<readonly [string, Partial<TensorToWrite>, string]>([
    [
      'rows of broken blocks',
      { shape: [2, 40], type: 'Q8_0' },
      'has rows of 40 numbers; expected a multiple of 32, the block of Q8_0',
    ],
    [
      'too few numbers',
      { shape: [5] },
      'has 4 numbers; expected 5, by its shape [5]. Copy or save the weights again.',
    ],
    [
      'NaN',
      { read: () => [Float32Array.of(1, NaN, 2, 3)] },
      'holds NaN, which F32 cannot store. The weights have diverged: use an earlier checkpoint.',
    ],
    ['infinity', { read: () => [Float32Array.of(1, -Infinity, 2, 3)] }, 'holds -Infinity'],
    [
      'what float16 has no number for',
      { type: 'F16', read: () => [Float32Array.of(1, 2, 3, 1e5)] },
      'holds 100000, which F16 cannot store. Write it as F32.',
    ],
    ...(['Q8_0', 'Q4_K', 'Q6_K'] as const).map(
      (type) =>
        [
          `a number for which ${type} has no scale`,
          { type, shape: [256], read: () => [new Float32Array(256).fill(-1e9)] },
          `holds -1000000000, which ${type} cannot store`,
        ] as const,
    ),
  ])('%s', async (_what, change, message) => {
    writeFileSync(target, 'before');
    const written = writeGguf(target, {
      keys: [],
      tensors: [tensor({ name: 'y' }), tensor(change)],
    });
    await expect(written).rejects.toThrow(`${target}: tensor x ${message}`);
    expect(readFileSync(target, 'utf8')).toBe('before');
    expect(readdirSync(folder)).toEqual(['model.gguf']);
  });

  it.each<readonly [TypedValue, string]>([
    [{ type: 'u32', value: -1 }, 'a.b is -1, which u32 cannot store. Correct it'],
    [{ list: 'i32', value: [1, 2 ** 31] }, 'a.b is 1,2147483648, which a list of i32 cannot store'],
  ])('a key out of range: %j', async (value, message) => {
    await expect(writeGguf(target, { keys: [['a.b', value]], tensors: [] })).rejects.toThrow(
      `${target}: ${message}`,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('a reader that fails', async () => {
    const read = (): never => {
      throw new Error('gone');
    };
    await expect(writeGguf(target, { keys: [], tensors: [tensor({ read })] })).rejects.toThrow(
      `${target} could not be written`,
    );
    expect(existsSync(target)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('a folder that does not exist', async () => {
    const nowhere = path.join(folder, 'no', 'model.gguf');
    await expect(writeGguf(nowhere, { keys: [], tensors: [] })).rejects.toThrow(
      `${nowhere} could not be written. Check that its folder exists`,
    );
  });
});
