/** Measures the agreement of two rankings or two gradients. */

/** Returns the rank of each value, where 1 is the largest; equal values have equal ranks. */
export const ranksOf = (values: readonly number[]): readonly number[] =>
  values.map((value) => 1 + values.filter((other) => other > value).length);

/**
 * Kendall's tau-b: (concordant - discordant pairs) / sqrt(pairs untied in a * pairs untied in b).
 * Undefined if all values of `a` or of `b` are equal.
 */
export function rankAgreement(a: readonly number[], b: readonly number[]): number | undefined {
  let [sum, untiedA, untiedB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < i; j++) {
      const [x, y] = [signOf(a, i, j), signOf(b, i, j)];
      sum += x * y;
      untiedA += x * x;
      untiedB += y * y;
    }
  return untiedA * untiedB === 0 ? undefined : sum / Math.sqrt(untiedA * untiedB);
}

const signOf = (values: readonly number[], i: number, j: number): number =>
  Math.sign((values[i] ?? 0) - (values[j] ?? 0));

/**
 * Cosine similarity of two gradients, each given as arrays by name. A name that is missing on one
 * side counts as zeros. Undefined if one of the gradients is 0.
 */
export function cosine(
  a: ReadonlyMap<string, Float32Array>,
  b: ReadonlyMap<string, Float32Array>,
): number | undefined {
  let product = 0;
  for (const [name, values] of a) {
    const others = b.get(name);
    if (others) product += values.reduce((sum, value, t) => sum + value * (others[t] ?? 0), 0);
  }
  const size = Math.sqrt(squareOf(a) * squareOf(b));
  return size === 0 ? undefined : product / size;
}

const squareOf = (gradients: ReadonlyMap<string, Float32Array>): number =>
  [...gradients.values()].reduce(
    (sum, values) => sum + values.reduce((own, value) => own + value ** 2, 0),
    0,
  );
