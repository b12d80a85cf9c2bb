/** 16-bit floating point numbers inside the blocks. */

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);

/** IEEE 754 binary16, little-endian, at `at`. */
export const halfAt = (bytes: Uint8Array, at: number): number =>
  numberOfHalf(bytes[at]! | (bytes[at + 1]! << 8));

/** 1 sign, 5 exponent (bias 15), 10 fraction bits. */
export function numberOfHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** bfloat16 is the upper half of a float32. */
export function bfloatAt(bytes: Uint8Array, at: number): number {
  bits[0] = ((bytes[at]! << 16) | (bytes[at + 1]! << 24)) >>> 0;
  return float[0]!;
}
