/**
 * Converts the bits of an IEEE 754 binary16 (float16, `F16`) to a number. The format has 1 sign
 * bit, 5 exponent bits (bias 15) and 10 fraction bits.
 */
export function numberOfHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
