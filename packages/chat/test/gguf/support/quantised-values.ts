/** The same numbers as in tools/fixtures/gguf_quantised.py. */

const blocks = 40;
const width = 256;

/** Uniform numbers in [-1, 1) from xorshift32. */
function uniform(seed: number, count: number): Float64Array {
  let state = seed;
  return Float64Array.from({ length: count }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) / 2 ** 32) * 2 - 1;
  });
}

/**
 * Products of two uniform numbers, and blocks that are all zero, constant, of one sign, tiny, or with
 * an outlier.
 */
export function quantisedValues(): Float32Array {
  const count = blocks * width;
  const drawn = uniform(12_345, 2 * count);
  const values = Float32Array.from({ length: count }, (_, i) => drawn[i]! * drawn[count + i]!);
  const row = (index: number): Float32Array => values.subarray(index * width, (index + 1) * width);
  const change = (part: Float32Array, by: (value: number) => number): void =>
    part.set(part.map(by));
  row(3).fill(0);
  change(row(4), (value) => value * 2 ** -13);
  row(5).fill(0.25, 0, 32);
  change(row(6), Math.abs);
  change(row(7), (value) => -Math.abs(value));
  change(row(8).subarray(0, 16), (value) => value * 2 ** -60);
  row(9)[7] = 50;
  change(row(10), (value) => value * 2 ** -30);
  return values;
}
