/**
 * Data types with blocks of 32 numbers q_i and one scale d: x_i = d (q_i - z) with a constant z, or
 * x_i = d q_i + m with an offset m per block. In the 4-bit and 5-bit types, byte i holds the low
 * bits of q_i and of q_(i + 16).
 * @see ggml-quants.c, `dequantize_row_*` and `quantize_row_*_ref`
 */
import { halfAt, halfOfNumber, putHalf } from './half.js';
import { levelsType, type LevelsOfBlock } from './types.js';

const blockLength = 32;
const half = 16;
const run = 32;
const scale = halfAt;

/** Q8_0: d (2 bytes), 32 signed bytes. */
export const q80 = levelsType({
  name: 'Q8_0',
  blockLength,
  blockBytes: 34,
  levels: {
    run,
    centre: 128,
    scale,
    write(bytes, from, into, to) {
      for (let i = 0; i < blockLength; i++) into[to + i] = bytes[from + 2 + i]! ^ 128;
    },
  },
  // Computed in float32 throughout, so that the bytes are identical to llama.cpp's.
  encode(values, from, bytes, to) {
    let largest = 0;
    for (let i = 0; i < blockLength; i++) largest = Math.max(largest, Math.abs(values[from + i]!));
    const d = Math.fround(largest / 127);
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    putHalf(bytes, to, halfOfNumber(d));
    for (let i = 0; i < blockLength; i++)
      bytes[to + 2 + i] = roundAway(Math.fround(values[from + i]! * inverse));
  },
});

/** Returns the offset m, which is stored after d. */
const offset = (bytes: Uint8Array, from: number): number => halfAt(bytes, from + 2);

/**
 * Reads 32 4-bit numbers from the 16 bytes that begin `skip` bytes after the start of the block:
 * first those in the low halves, then those in the high halves.
 */
const fourBits =
  (skip: number): LevelsOfBlock['write'] =>
  (bytes, from, into, to) => {
    for (let i = 0; i < half; i++) {
      const q = bytes[from + skip + i]!;
      into[to + i] = q & 15;
      into[to + i + half] = q >> 4;
    }
  };

/** Reads 5-bit numbers: like {@link fourBits}, with the fifth bits in the 4 bytes before `skip`. */
const fiveBits =
  (skip: number): LevelsOfBlock['write'] =>
  (bytes, from, into, to) => {
    fourBits(skip)(bytes, from, into, to);
    for (let i = 0; i < blockLength; i++) into[to + i]! |= fifthBit(bytes, from + skip - 4, i);
  };

const fifthBit = (bytes: Uint8Array, at: number, i: number): number =>
  ((bytes[at + (i >> 3)]! >> (i & 7)) & 1) << 4;

/** Q4_0: d (2 bytes), 32 times 4 bits; z = 8. */
export const q40 = levelsType({
  name: 'Q4_0',
  blockLength,
  blockBytes: 18,
  levels: { run, centre: 8, scale, write: fourBits(2) },
});

/** Q4_1: d, m (2 bytes each), 32 times 4 bits. */
export const q41 = levelsType({
  name: 'Q4_1',
  blockLength,
  blockBytes: 20,
  levels: { run, centre: 8, scale, offset, write: fourBits(4) },
});

/** Q5_0: d (2 bytes), the fifth bits (4 bytes), 32 times 4 bits; z = 16. */
export const q50 = levelsType({
  name: 'Q5_0',
  blockLength,
  blockBytes: 22,
  levels: { run, centre: 16, scale, write: fiveBits(6) },
});

/** Q5_1: d, m (2 bytes each), the fifth bits (4 bytes), 32 times 4 bits. */
export const q51 = levelsType({
  name: 'Q5_1',
  blockLength,
  blockBytes: 24,
  levels: { run, centre: 16, scale, offset, write: fiveBits(8) },
});

/**
 * Rounds to the nearest whole number, halves away from zero. Adding 0.5 to a float32 is exact in
 * float64.
 */
const roundAway = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
