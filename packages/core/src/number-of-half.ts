/**
 * Converts the bits of an IEEE 754 binary16 (float16, `F16`) to a number. The format has 1 sign
 * bit, 5 exponent bits (bias 15) and 10 fraction bits.
 */
export function numberOfHalf(half: number): number {
  const size = half & 0x7fff;
  // Native code may have set the processor to treat subnormal numbers of binary32 as 0.
  if (size < 0x400) return (half & 0x8000 ? -1 : 1) * size * 2 ** -24;
  // The exponent of binary32 has the bias 127, and is 255 for infinity and NaN.
  const bias = size < 0x7c00 ? 127 - 15 : 255 - 31;
  bits[0] = ((half & 0x8000) << 16) | ((size << 13) + (bias << 23));
  return float[0]!;
}

const bits = new Int32Array(1);
const float = new Float32Array(bits.buffer);
