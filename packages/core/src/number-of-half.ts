/**
 * Converts the bits of an IEEE 754 binary16 (float16, `F16`) to a number. The format has 1 sign
 * bit, 5 exponent bits (bias 15) and 10 fraction bits.
 */
export function numberOfHalf(half: number): number {
  // Read as binary32, exponent and fraction give the number times 2^-112: the bias is 127, not 15.
  bits[0] = ((half & 0x8000) << 16) | ((half & 0x7fff) << 13);
  const number = float[0]! * 2 ** 112;
  if ((half & 0x7c00) !== 0x7c00) return number;
  return (half & 0x3ff) === 0 ? number * Infinity : NaN;
}

const bits = new Int32Array(1);
const float = new Float32Array(bits.buffer);
