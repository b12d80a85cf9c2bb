import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';
import { numberOfHalf } from '@trinity-rft/core/support';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openSafetensors, writeSafetensors } from './safetensors.js';

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'safetensors-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));
const path = (name: string): string => join(folder, name);

/** A file of one tensor `x` in any stored type, laid out by hand. */
async function writeRaw(
  name: string,
  dtype: string,
  shape: readonly number[],
  bytes: Uint8Array,
): Promise<string> {
  const header = Buffer.from(
    JSON.stringify({ x: { dtype, shape, data_offsets: [0, bytes.length] } }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeFile(path(name), Buffer.concat([length, header, bytes]));
  return path(name);
}

/** A file of two tensors of two numbers each, whose byte ranges are those in `header`. */
async function writeHeader(name: string, header: string, dataBytes = 16): Promise<string> {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeFile(
    path(name),
    Buffer.concat([length, Buffer.from(header), Buffer.alloc(dataBytes)]),
  );
  return path(name);
}

const entry = (name: string, begin: number): string =>
  `"${name}": {"dtype": "F32", "shape": [2], "data_offsets": [${begin}, ${begin + 8}]}`;

async function readAll(file: string, name: string): Promise<Float32Array> {
  const opened = await openSafetensors(file);
  const size = opened.tensors.get(name)!.shape.reduce((a, b) => a * b, 1);
  const into = new Float32Array(size);
  try {
    await opened.read(name, into);
  } finally {
    await opened.close();
  }
  return into;
}

describe('a safetensors file', () => {
  it('gives back every float32 bit, shapes and metadata', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.float32Array({ maxLength: 40, noNaN: true, noDefaultInfinity: true }), {
          minLength: 1,
          maxLength: 5,
        }),
        async (arrays) => {
          const tensors = arrays.map((data, i) => ({
            name: `layer.${i}`,
            shape: [data.length],
            data,
          }));
          await writeSafetensors(path('bits'), tensors, { metadata: { format: 'pt', step: '7' } });
          for (const { name, data } of tensors) {
            expect(new Uint32Array((await readAll(path('bits'), name)).buffer)).toEqual(
              new Uint32Array(data.slice().buffer),
            );
          }
        },
      ),
      { numRuns: 20 },
    );
    const file = await openSafetensors(path('bits'));
    expect(file.metadata).toEqual({ format: 'pt', step: '7' });
    await file.close();
  });

  it('has equal bytes for equal tensors, and data at a multiple of 8', async () => {
    const tensors = [{ name: 'w', shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) }];
    await writeSafetensors(path('a'), tensors);
    await writeSafetensors(path('b'), tensors);
    const bytes = await readFile(path('a'));
    expect(bytes).toEqual(await readFile(path('b')));
    expect(Number(bytes.readBigUInt64LE()) % 8).toBe(0);
  });

  it('rounds to bfloat16 to nearest, ties to even', async () => {
    const data = Float32Array.of(
      1,
      1 + 2 ** -8,
      1 + 3 * 2 ** -8,
      1 + 2 ** -8 + 2 ** -20,
      -3.5,
      0,
      -0,
    );
    await writeSafetensors(path('bf16'), [{ name: 'x', shape: [data.length], data }], {
      type: 'BF16',
    });
    expect([...(await readAll(path('bf16'), 'x'))]).toEqual([
      1,
      1,
      1 + 2 ** -6,
      1 + 2 ** -7,
      -3.5,
      0,
      -0,
    ]);
  });

  it('reads float16, the smallest and largest numbers included', async () => {
    const bits = Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x8000, 0x3555);
    const file = await writeRaw('f16', 'F16', [7], new Uint8Array(bits.buffer));
    expect([...(await readAll(file, 'x'))]).toEqual([
      1,
      -2,
      65504,
      2 ** -24,
      2 ** -14,
      -0,
      Math.fround(0.333251953125),
    ]);
    expect(numberOfHalf(0x7e00)).toBeNaN();
  });

  it('is read in pieces without a seam', async () => {
    const data = Float32Array.from({ length: 1_200_000 }, (_, i) => i);
    await writeSafetensors(path('large'), [{ name: 'x', shape: [data.length], data }]);
    expect(await readAll(path('large'), 'x')).toEqual(data);
  });
});

it.for(['F32', 'BF16'] as const)(
  'a tensor of %s that contains NaN or infinity is refused with its file and name',
  async (type) => {
    const data = Float32Array.of(1, -Infinity);
    await writeSafetensors(path('infinite'), [{ name: 'x', shape: [2], data }], { type });
    await expect(readAll(path('infinite'), 'x')).rejects.toThrow(
      `${path('infinite')}: tensor x contains -Infinity`,
    );
  },
);

it('that cannot be written is an error with its cause and what to check', async () => {
  const file = join(import.meta.filename, 'x.safetensors');
  await expect(writeSafetensors(file, [])).rejects.toThrow(
    /x\.safetensors could not be written: ENOTDIR.*\. Check that the folder is writable and the disk has room\.$/,
  );
});

describe('a broken safetensors file is rejected with its name:', () => {
  const cases: readonly [string, () => Promise<string>, string][] = [
    ['one that is not there', async () => path('nowhere'), 'copy or download it again'],
    ['one that cannot be opened', async () => path('x'.repeat(300)), 'opened: ENAMETOOLONG'],
    [
      'text',
      async () => (await writeFile(path('text'), 'hello, this is not a tensor'), path('text')),
      'its header claims',
    ],
    [
      'a pointer of git-lfs',
      async () => (
        await writeFile(path('lfs'), 'version https://git-lfs.github.com/spec/v1\n'),
        path('lfs')
      ),
      'is a git-lfs pointer, not the file itself',
    ],
    [
      'one cut short in the header',
      async () => (await writeFile(path('short'), Buffer.alloc(4)), path('short')),
      'it ends after 4 bytes',
    ],
    [
      'one cut short in the data',
      async () => {
        await writeSafetensors(path('cut'), [{ name: 'x', shape: [8], data: new Float32Array(8) }]);
        await truncate(path('cut'), (await readFile(path('cut'))).length - 5);
        return path('cut');
      },
      'tensor x ends at byte',
    ],
    [
      'a shape that does not fit',
      () => writeRaw('shape', 'F32', [3], new Uint8Array(8)),
      'tensor x of shape [3] has 8 bytes instead of 12',
    ],
    [
      'one tensor over another',
      () => writeHeader('over', `{${entry('x', 0)}, ${entry('y', 4)}}`, 12),
      'tensor y begins at byte',
    ],
    [
      'two tensors in one place',
      () => writeHeader('same', `{${entry('x', 0)}, ${entry('y', 0)}}`, 8),
      'tensor y begins at byte',
    ],
    [
      'bytes of no tensor',
      () => writeHeader('gap', `{${entry('x', 0)}, ${entry('y', 12)}}`, 20),
      'tensor y begins at byte',
    ],
    [
      'bytes after the last tensor',
      () => writeHeader('after', `{${entry('x', 0)}, ${entry('y', 8)}}`, 17),
      'its tensors end at byte',
    ],
    [
      'a tensor that is named twice',
      () => writeHeader('twice', `{${entry('x', 0)}, ${entry('x', 8)}}`),
      'its header names "x" twice',
    ],
    [
      'a tensor without shape and place',
      () => writeHeader('bare', '{"x": {"dtype": "F32"}}'),
      'its header is not the JSON of the format',
    ],
    [
      'metadata in the form of a tensor',
      () => writeHeader('meta', `{${entry('__metadata__', 0)}}`),
      'its header is not the JSON of the format',
    ],
    [
      'an unknown number format',
      () => writeRaw('int8', 'I8', [4], new Uint8Array(4)),
      'tensor x is stored as I8; expected one of F32, BF16, F16',
    ],
  ];
  it.for(cases)('%s', async ([, make, message]) => {
    const file = await make();
    const rejection = openSafetensors(file);
    await expect(rejection).rejects.toBeInstanceOf(CheckpointError);
    await expect(rejection).rejects.toThrow(file);
    await expect(rejection).rejects.toThrow(message);
  });
});
