/**
 * Encoders of Q4_K and Q6_K without an importance matrix. They compute in float32 throughout and in
 * the order of llama.cpp, so that the bytes are identical.
 * @see ggml-quants.c, `quantize_row_q4_K_ref` and `quantize_row_q6_K_ref`
 */
import { numberOfHalf } from '@trinity-rft/core/support';
import { halfOfNumber, putHalf } from './half.js';
import {
  clamp,
  nearest,
  quantised,
  scaleAndOffset,
  signedQuantised,
  signedScale,
} from './search-scale.js';

const f = Math.fround;
const blockLength = 256;
const stored = new Uint8Array(blockLength);
/** Highest value of a 6-bit scale. */
const topScale = 63;

export function encodeQ4K(values: Float32Array, from: number, bytes: Uint8Array, to: number): void {
  const found = Array.from({ length: 8 }, (_, k) => scaleAndOffset(values, from + 32 * k));
  const maxScale = Math.max(0, ...found.map(({ scale }) => scale));
  const maxOffset = Math.max(0, ...found.map(({ offset }) => offset));
  const d = halfOfNumber(f(maxScale / topScale));
  const e = halfOfNumber(f(maxOffset / topScale));
  putHalf(bytes, to, d);
  putHalf(bytes, to + 2, e);
  const six = (value: number, most: number): number =>
    Math.min(topScale, nearest(f((most > 0 ? f(topScale / most) : 0) * value)));
  for (const [k, by] of found.entries()) {
    const scale = six(by.scale, maxScale);
    const offset = six(by.offset, maxOffset);
    packSixBits(bytes, to + 4, k, scale, offset);
    const step = f(numberOfHalf(d) * scale);
    const shift = f(numberOfHalf(e) * offset);
    for (let i = 32 * k; i < 32 * k + 32; i++) {
      const x = values[from + i]!;
      stored[i] = step === 0 ? quantised(x, by) : clamp(nearest(f(f(x + shift) / step)), 0, 15);
    }
  }
  for (let pair = 0; pair < 4; pair++)
    for (let i = 0; i < 32; i++)
      bytes[to + 16 + 32 * pair + i] = stored[64 * pair + i]! | (stored[64 * pair + 32 + i]! << 4);
}

/**
 * Packs the 6-bit scale and the 6-bit offset of run k, in the layout that `blocks-of-256.ts` reads.
 */
function packSixBits(
  bytes: Uint8Array,
  at: number,
  k: number,
  scale: number,
  offset: number,
): void {
  if (k < 4) {
    bytes[at + k] = scale;
    bytes[at + k + 4] = offset;
    return;
  }
  bytes[at + k + 4] = (scale & 15) | ((offset & 15) << 4);
  bytes[at + k - 4]! |= (scale >> 4) << 6;
  bytes[at + k]! |= (offset >> 4) << 6;
}

export function encodeQ6K(values: Float32Array, from: number, bytes: Uint8Array, to: number): void {
  const found = Array.from({ length: 16 }, (_, k) => signedScale(values, from + 16 * k));
  let max = 0;
  for (const by of found) if (by && Math.abs(by.scale) > Math.abs(max)) max = by.scale;
  if (Math.abs(max) < f(1e-15)) return void bytes.fill(0, to, to + 210);
  const inverse = f(-128 / max);
  const d = halfOfNumber(f(1 / inverse));
  for (const [k, by] of found.entries()) {
    const scale = Math.min(127, nearest(f(inverse * (by?.scale ?? 0))));
    bytes[to + 192 + k] = scale;
    const step = f(numberOfHalf(d) * scale);
    for (let i = 16 * k; i < 16 * k + 16; i++) {
      const x = values[from + i]!;
      if (step !== 0) stored[i] = clamp(nearest(f(x / step)), -32, 31) + 32;
      else stored[i] = by ? signedQuantised(x, by.inverse) + 32 : 0;
    }
  }
  packSixths(bytes, to);
  putHalf(bytes, to + 208, d);
}

/**
 * Packs 256 6-bit numbers: the low 4 bits of all numbers into 128 bytes, then their high 2 bits
 * into 64 bytes.
 */
function packSixths(bytes: Uint8Array, to: number): void {
  for (let part = 0; part < 2; part++)
    for (let i = 0; i < 32; i++) {
      const q = (quarter: number): number => stored[128 * part + 32 * quarter + i]!;
      bytes[to + 64 * part + i] = (q(0) & 15) | ((q(2) & 15) << 4);
      bytes[to + 64 * part + 32 + i] = (q(1) & 15) | ((q(3) & 15) << 4);
      bytes[to + 128 + 32 * part + i] =
        (q(0) >> 4) | ((q(1) >> 4) << 2) | ((q(2) >> 4) << 4) | ((q(3) >> 4) << 6);
    }
}
