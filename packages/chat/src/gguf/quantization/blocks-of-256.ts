/**
 * Formats with blocks of 256 numbers, whose scales s_k of 32 or 16 numbers are themselves quantised
 * with one scale d: x_i = d s_k q_i - e m_k, or x_i = d s_k q_i.
 * @see ggml-quants.c, `dequantize_row_*`
 */
import { encodeQ4K, encodeQ6K } from './encode-256.js';
import { halfAt } from './half.js';
import type { TensorType } from './types.js';

const blockLength = 256;
const run = 32;

/** d, e (2 bytes each), 8 scales and 8 offsets of 6 bits (12 bytes), 256 times 4 bits. */
export const q4k: TensorType = {
  name: 'Q4_K',
  blockLength,
  blockBytes: 144,
  decode(bytes, from, into, to) {
    for (let k = 0; k < 8; k++) {
      const [scale, offset] = scaleAndOffset(bytes, from, k);
      const low = from + 16 + (k >> 1) * run;
      const shift = 4 * (k & 1);
      for (let i = 0; i < run; i++)
        into[to + k * run + i] = scale * ((bytes[low + i]! >> shift) & 15) - offset;
    }
  },
  encode: encodeQ4K,
};

/** Like Q4_K, with a fifth bit: byte i of 32 holds that of the numbers i, i + 32, i + 64 ... */
export const q5k: TensorType = {
  name: 'Q5_K',
  blockLength,
  blockBytes: 176,
  decode(bytes, from, into, to) {
    for (let k = 0; k < 8; k++) {
      const [scale, offset] = scaleAndOffset(bytes, from, k);
      const low = from + 48 + (k >> 1) * run;
      const shift = 4 * (k & 1);
      for (let i = 0; i < run; i++) {
        const fifth = ((bytes[from + 16 + i]! >> k) & 1) << 4;
        into[to + k * run + i] = scale * (((bytes[low + i]! >> shift) & 15) | fifth) - offset;
      }
    }
  },
};

/** 256 times the low 4 bits, 256 times the high 2, 16 scales of 8 bits, d (2 bytes); z = 32. */
export const q6k: TensorType = {
  name: 'Q6_K',
  blockLength,
  blockBytes: 210,
  decode(bytes, from, into, to) {
    const d = halfAt(bytes, from + 208);
    for (let k = 0; k < 8; k++) {
      const [part, quarter] = [k >> 2, k & 3];
      const low = from + 64 * part + run * (quarter & 1);
      const high = from + 128 + run * part;
      for (let i = 0; i < run; i++) {
        const q =
          ((bytes[low + i]! >> (quarter & 2 ? 4 : 0)) & 15) |
          (((bytes[high + i]! >> (2 * quarter)) & 3) << 4);
        const scale = (bytes[from + 192 + 2 * k + (i >> 4)]! << 24) >> 24;
        into[to + k * run + i] = d * scale * (q - 32);
      }
    }
  },
  encode: encodeQ6K,
};

/**
 * d s_k and e m_k. The first 4 scales and offsets are the low 6 bits of bytes 0..3 and 4..7; the rest
 * have their low 4 bits in bytes 8..11, and their high 2 bits above those of the first.
 */
function scaleAndOffset(bytes: Uint8Array, from: number, k: number): readonly [number, number] {
  const at = from + 4;
  const scale =
    k < 4 ? bytes[at + k]! & 63 : (bytes[at + k + 4]! & 15) | ((bytes[at + k - 4]! >> 6) << 4);
  const offset =
    k < 4 ? bytes[at + k + 4]! & 63 : (bytes[at + k + 4]! >> 4) | ((bytes[at + k]! >> 6) << 4);
  return [halfAt(bytes, from) * scale, halfAt(bytes, from + 2) * offset];
}
