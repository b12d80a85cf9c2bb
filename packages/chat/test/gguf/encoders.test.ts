/**
 * Compares encoders with llama.cpp and with the decoders; tools/fixtures/gguf_quantised.py makes
 * quantised.json.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodedTypes,
  encoderOf,
  largestOf,
  type EncodedType,
} from '../../src/gguf/quantization/encoders.js';
import { numberOfHalf } from '@trinity-rft/core/support';
import { halfOfNumber } from '../../src/gguf/quantization/half.js';
import { quantisedValues } from './support/quantised-values.js';

const fixture = new URL('fixtures/quantised.json', import.meta.url);
const expected = JSON.parse(readFileSync(fixture, 'utf8')) as Record<string, string>;

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function encode(type: EncodedType, values: Float32Array): Buffer {
  const { blockLength, blockBytes, encode: one } = encoderOf(type);
  const bytes = Buffer.alloc((values.length / blockLength) * blockBytes);
  for (let i = 0; i < values.length / blockLength; i++)
    one(values, i * blockLength, bytes, i * blockBytes);
  return bytes;
}

function decode(type: EncodedType, bytes: Uint8Array): Float32Array {
  const encoder = encoderOf(type);
  const values = new Float32Array((bytes.length / encoder.blockBytes) * encoder.blockLength);
  encoder.decode(bytes, values, 0);
  return values;
}

const bits = (values: Float32Array): readonly number[] => [...new Uint32Array(values.buffer)];
const number = fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e4, max: 1e4 });
const numbers = (count: number) =>
  fc
    .tuple(
      fc.array(number, { minLength: count, maxLength: count }),
      fc.integer({ min: -20, max: 0 }),
    )
    .map(([values, power]) => Float32Array.from(values, (value) => value * 2 ** power));

describe('blocks of llama.cpp are equal to the byte:', () => {
  const values = quantisedValues();

  it('the numbers that both have quantised', () => {
    expect(digest(new Uint8Array(values.buffer))).toBe(expected['values']);
  });

  it.each(['Q8_0', 'Q4_K', 'Q6_K'] as const)('%s', (type) => {
    expect(digest(encode(type, values))).toBe(expected[type]);
  });
});

describe('Q8_0', () => {
  it('has the largest number at 127, and rounds a half away from zero', () => {
    const values = new Float32Array(32);
    values.set([127, 0.5, -0.5, 1.5, -2.5, 0.49, -127, 3]);
    const bytes = encode('Q8_0', values);
    expect(numberOfHalf(bytes.readUInt16LE(0))).toBe(1);
    const stored = [...new Int8Array(bytes.subarray(2))].slice(0, 8);
    expect(stored).toEqual([127, 1, -1, 2, -3, 0, -127, 3]);
  });

  it('is within half a step of every number', () => {
    fc.assert(
      fc.property(numbers(64), (values) => {
        const read = decode('Q8_0', encode('Q8_0', values));
        for (let block = 0; block < 2; block++) {
          const part = values.subarray(32 * block, 32 * block + 32);
          const largest = part.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
          // The step itself is rounded to float16: 2^-11 of the largest number, or 2^-25 for tiny ones.
          const bound = largest * (0.5 / 127 + 2 ** -11) + 128 * 2 ** -25;
          part.forEach((value, i) =>
            expect(Math.abs(value - read[32 * block + i]!)).toBeLessThanOrEqual(bound),
          );
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('formats of 256', () => {
  // Error bounds: steps over the range of 32 or 16 numbers, and scales of 6 or 8 bits over the largest
  // scale.
  it.each([
    ['Q4_K', 0.2],
    ['Q6_K', 0.08],
  ] as const)('%s is near every number', (type, share) => {
    fc.assert(
      fc.property(numbers(256), (values) => {
        const read = decode(type, encode(type, values));
        const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        const bound = share * largest + 2 ** -16;
        values.forEach((value, i) => expect(Math.abs(value - read[i]!)).toBeLessThan(bound));
      }),
      { numRuns: 50 },
    );
  });
});

describe('plain formats', () => {
  it('F32 keeps every bit', () => {
    fc.assert(
      fc.property(fc.float32Array({ noNaN: true, minLength: 1 }), (values) => {
        const copy = values.slice();
        expect(bits(decode('F32', encode('F32', copy)))).toEqual(bits(copy));
      }),
    );
  });

  it('F16 is the nearest of all 65,504 finite numbers, ties to even', () => {
    for (let half = 0; half < 0x7c00; half++) {
      const [here, next] = [numberOfHalf(half), half < 0x7bff ? numberOfHalf(half + 1) : 65_536];
      expect(halfOfNumber(here)).toBe(half);
      expect(halfOfNumber(-here)).toBe(half | 0x8000);
      const middle = (here + next) / 2;
      expect(halfOfNumber(middle)).toBe(half % 2 === 0 ? half : half + 1);
      expect(halfOfNumber(Math.fround(middle * (1 - 2 ** -20)))).toBe(half);
      expect(halfOfNumber(Math.fround(middle * (1 + 2 ** -20)))).toBe(half + 1);
    }
    expect([Infinity, -Infinity, 65_520, 1e30].map(halfOfNumber)).toEqual([
      0x7c00, 0xfc00, 0x7c00, 0x7c00,
    ]);
    expect(numberOfHalf(halfOfNumber(NaN))).toBeNaN();
  });

  it('BF16 is within a 256th', () => {
    fc.assert(
      fc.property(numbers(8), (values) => {
        const read = decode('BF16', encode('BF16', values));
        values.forEach((value, i) =>
          expect(Math.abs(value - read[i]!)).toBeLessThanOrEqual(Math.abs(value) / 256 + 2 ** -134),
        );
      }),
    );
  });

  it.each(['F32', 'F16', 'BF16', 'Q8_0'] as const)(
    '%s encodes what it has decoded to the same numbers',
    (type) => {
      fc.assert(
        fc.property(numbers(256), (values) => {
          const read = decode(type, encode(type, values));
          // A scale that is rounded to 0 turns numbers into zeros of either sign.
          const again = decode(type, encode(type, read));
          expect(again.map((value) => value + 0)).toEqual(read.map((value) => value + 0));
        }),
        { numRuns: 30 },
      );
    },
  );
});

describe('the largest number of a format', () => {
  const share = fc.oneof(
    fc.constantFrom(-1, 0, 1),
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.double({ min: -1, max: -0.9, noNaN: true }),
  );
  const shares = fc.array(share, { minLength: 256, maxLength: 256 });
  const isFinite = (type: EncodedType, values: Float32Array): boolean =>
    decode(type, encode(type, values)).every(Number.isFinite);

  it.each(encodedTypes)('leaves all numbers and scales finite: %s', (type) => {
    fc.assert(
      fc.property(shares, (all) => {
        const values = Float32Array.from(all, (each) => each * largestOf[type]);
        expect(isFinite(type, values)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it.each(encodedTypes)('is at least half of what %s can store', (type) => {
    expect(isFinite(type, new Float32Array(256).fill(-2 * largestOf[type]))).toBe(false);
  });
});
