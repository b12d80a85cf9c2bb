/**
 * Formats with blocks of 32 numbers q_i and one scale d: x_i = d (q_i - z), or x_i = d q_i + m. In the
 * formats of 4 and 5 bits, byte i holds the low bits of q_i and of q_(i + 16).
 * @see ggml-quants.c, `dequantize_row_*` and `quantize_row_*_ref`
 */
import { halfAt, halfOfNumber, putHalf } from './half.js';
import type { TensorType } from './types.js';

const blockLength = 32;
const half = 16;

/** d (2 bytes), 32 signed bytes. */
export const q80: TensorType = {
  name: 'Q8_0',
  blockLength,
  blockBytes: 34,
  decode(bytes, from, into, to) {
    const d = halfAt(bytes, from);
    for (let i = 0; i < blockLength; i++) into[to + i] = d * ((bytes[from + 2 + i]! << 24) >> 24);
  },
  // In float32 throughout, so that the bytes are those of llama.cpp.
  encode(values, from, bytes, to) {
    let largest = 0;
    for (let i = 0; i < blockLength; i++) largest = Math.max(largest, Math.abs(values[from + i]!));
    const d = Math.fround(largest / 127);
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    putHalf(bytes, to, halfOfNumber(d));
    for (let i = 0; i < blockLength; i++)
      bytes[to + 2 + i] = roundAway(Math.fround(values[from + i]! * inverse));
  },
};

/** d (2 bytes), 32 times 4 bits; z = 8. */
export const q40: TensorType = {
  name: 'Q4_0',
  blockLength,
  blockBytes: 18,
  decode(bytes, from, into, to) {
    const d = halfAt(bytes, from);
    for (let i = 0; i < half; i++) {
      const q = bytes[from + 2 + i]!;
      into[to + i] = d * ((q & 15) - 8);
      into[to + i + half] = d * ((q >> 4) - 8);
    }
  },
};

/** d, m (2 bytes each), 32 times 4 bits. */
export const q41: TensorType = {
  name: 'Q4_1',
  blockLength,
  blockBytes: 20,
  decode(bytes, from, into, to) {
    const d = halfAt(bytes, from);
    const m = halfAt(bytes, from + 2);
    for (let i = 0; i < half; i++) {
      const q = bytes[from + 4 + i]!;
      into[to + i] = d * (q & 15) + m;
      into[to + i + half] = d * (q >> 4) + m;
    }
  },
};

/** d (2 bytes), the fifth bits (4 bytes), 32 times 4 bits; z = 16. */
export const q50: TensorType = {
  name: 'Q5_0',
  blockLength,
  blockBytes: 22,
  decode(bytes, from, into, to) {
    const d = halfAt(bytes, from);
    for (let i = 0; i < half; i++) {
      const q = bytes[from + 6 + i]!;
      into[to + i] = d * (((q & 15) | fifthBit(bytes, from + 2, i)) - 16);
      into[to + i + half] = d * (((q >> 4) | fifthBit(bytes, from + 2, i + half)) - 16);
    }
  },
};

/** d, m (2 bytes each), the fifth bits (4 bytes), 32 times 4 bits. */
export const q51: TensorType = {
  name: 'Q5_1',
  blockLength,
  blockBytes: 24,
  decode(bytes, from, into, to) {
    const d = halfAt(bytes, from);
    const m = halfAt(bytes, from + 2);
    for (let i = 0; i < half; i++) {
      const q = bytes[from + 8 + i]!;
      into[to + i] = d * ((q & 15) | fifthBit(bytes, from + 4, i)) + m;
      into[to + i + half] = d * ((q >> 4) | fifthBit(bytes, from + 4, i + half)) + m;
    }
  },
};

const fifthBit = (bytes: Uint8Array, at: number, i: number): number =>
  ((bytes[at + (i >> 3)]! >> (i & 7)) & 1) << 4;

/** The nearest whole number; a half goes away from zero. The sum is exact in float64. */
const roundAway = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
