/**
 * Data types with blocks of 256 numbers in runs of 32 or 16. Each run k has a scale s_k, which is
 * itself quantised with one scale d per block, and may have an offset m_k, which is quantised with
 * one scale e per block: x_i = d s_k q_i, or x_i = d s_k q_i - e m_k.
 * @see ggml-quants.c, `dequantize_row_*`
 */
import { encodeQ4K, encodeQ6K } from './encode-256.js';
import { halfAt } from './half.js';
import { levelsType, type LevelsOfBlock } from './types.js';

const blockLength = 256;
const run = 32;

/**
 * Reads 256 4-bit numbers from the 128 bytes that begin `skip` bytes after the start of the block.
 * Each group of 32 bytes holds 64 numbers: first those in the low halves, then those in the high
 * halves.
 */
const fourBits =
  (skip: number): LevelsOfBlock['write'] =>
  (bytes, from, into, to) => {
    for (let k = 0; k < 8; k++) {
      const low = from + skip + (k >> 1) * run;
      const shift = 4 * (k & 1);
      for (let i = 0; i < run; i++) into[to + k * run + i] = (bytes[low + i]! >> shift) & 15;
    }
  };

/**
 * Returns the scale d s_k of run k. The 12 bytes after d and e hold it: the first 4 scales are the
 * low 6 bits of bytes 0 to 3. The last 4 scales have their low 4 bits in the low halves of bytes 8
 * to 11, and their high 2 bits in the high bits of bytes 0 to 3.
 */
function scale(bytes: Uint8Array, from: number, k: number): number {
  const at = from + 4;
  const six =
    k < 4 ? bytes[at + k]! & 63 : (bytes[at + k + 4]! & 15) | ((bytes[at + k - 4]! >> 6) << 4);
  return halfAt(bytes, from) * six;
}

/**
 * Returns the offset -e m_k of run k, which is stored like {@link scale}: the first 4 in bytes 4 to
 * 7, the last 4 in the high halves of bytes 8 to 11 and the high bits of bytes 4 to 7.
 */
function offset(bytes: Uint8Array, from: number, k: number): number {
  const at = from + 4;
  const six =
    k < 4 ? bytes[at + k + 4]! & 63 : (bytes[at + k + 4]! >> 4) | ((bytes[at + k]! >> 6) << 4);
  return -halfAt(bytes, from + 2) * six;
}

/** Q4_K: d, e (2 bytes each), 8 scales and 8 offsets of 6 bits (12 bytes), 256 times 4 bits. */
export const q4k = levelsType({
  name: 'Q4_K',
  blockLength,
  blockBytes: 144,
  levels: { run, centre: 8, scale, offset, write: fourBits(16) },
  encode: encodeQ4K,
});

/**
 * Q5_K: like Q4_K, with a fifth bit per number: byte i of 32 holds the fifth bits of the numbers i,
 * i + 32, i + 64 and so on.
 */
export const q5k = levelsType({
  name: 'Q5_K',
  blockLength,
  blockBytes: 176,
  levels: {
    run,
    centre: 16,
    scale,
    offset,
    write(bytes, from, into, to) {
      fourBits(48)(bytes, from, into, to);
      for (let k = 0; k < 8; k++)
        for (let i = 0; i < run; i++)
          into[to + k * run + i]! |= ((bytes[from + 16 + i]! >> k) & 1) << 4;
    },
  },
});

/**
 * Q6_K: low 4 bits (128 bytes), high 2 bits (64 bytes), 16 scales of 8 bits, d (2 bytes); z = 32.
 */
export const q6k = levelsType({
  name: 'Q6_K',
  blockLength,
  blockBytes: 210,
  levels: {
    run: 16,
    centre: 32,
    scale: (bytes, from, k) => halfAt(bytes, from + 208) * ((bytes[from + 192 + k]! << 24) >> 24),
    write(bytes, from, into, to) {
      for (let k = 0; k < 8; k++) {
        const [part, quarter] = [k >> 2, k & 3];
        const low = from + 64 * part + run * (quarter & 1);
        const high = from + 128 + run * part;
        for (let i = 0; i < run; i++)
          into[to + k * run + i] =
            ((bytes[low + i]! >> (quarter & 2 ? 4 : 0)) & 15) |
            (((bytes[high + i]! >> (2 * quarter)) & 3) << 4);
      }
    },
  },
  encode: encodeQ6K,
});
