/** Conversion of 16-bit floating-point numbers, which blocks contain. */
import { numberOfHalf } from '@trinity-rft/core/support';

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);

/** Reads an IEEE 754 binary16, little-endian, at index `at`. */
export const halfAt = (bytes: Uint8Array, at: number): number =>
  numberOfHalf(bytes[at]! | (bytes[at + 1]! << 8));

/** Reads a little-endian bfloat16 at index `at`. A bfloat16 is the upper half of a float32. */
export function bfloatAt(bytes: Uint8Array, at: number): number {
  bits[0] = ((bytes[at]! << 16) | (bytes[at + 1]! << 24)) >>> 0;
  return float[0]!;
}

/**
 * Returns the bits of the nearest binary16, ties to even. Magnitudes of 65,520 and more become
 * infinite.
 */
export function halfOfNumber(value: number): number {
  float[0] = value;
  const sign = (bits[0]! >>> 16) & 0x8000;
  const size = bits[0]! & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00;
  if (size >= 0x47800000) return sign | 0x7c00;
  if (size < 0x38800000) {
    // Below 2^-14, the step of binary16 is 2^-24, which is the step of float32 from 0.5 to 1.
    float[0] = Math.abs(value) + 0.5;
    return sign | (bits[0]! - 0x3f000000);
  }
  return sign | ((size + 0xfff + ((size >>> 13) & 1) - 0x38000000) >>> 13);
}

/** Returns the bits of the nearest bfloat16, ties to even. NaN remains NaN. */
export function bfloatOfNumber(value: number): number {
  float[0] = value;
  const size = bits[0]!;
  const isNaN = (size & 0x7fffffff) > 0x7f800000;
  return isNaN ? (size >>> 16) | 0x40 : ((size + 0x7fff + ((size >>> 16) & 1)) >>> 16) & 0xffff;
}

/** Writes 16 bits, little-endian. */
export function putHalf(bytes: Uint8Array, at: number, half: number): void {
  bytes[at] = half & 0xff;
  bytes[at + 1] = half >>> 8;
}
