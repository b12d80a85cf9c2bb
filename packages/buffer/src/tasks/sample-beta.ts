import type { Random } from '@trinity-rft/core';

/** Samples Beta(alpha, beta) as X / (X + Y) with X ~ Gamma(alpha) and Y ~ Gamma(beta). */
export function sampleBeta(alpha: number, beta: number, random: Random): number {
  const x = sampleGamma(alpha, random);
  const y = sampleGamma(beta, random);
  return x + y === 0 ? alpha / (alpha + beta) : x / (x + y);
}

/** Samples Gamma(shape, 1) by the method of Marsaglia and Tsang (2000). @param shape above 0 */
function sampleGamma(shape: number, random: Random): number {
  if (shape < 1) return sampleGamma(shape + 1, random) * random.next() ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = random.normal();
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random.next()) < 0.5 * x * x + d - d * v + d * Math.log(v))
      return d * v;
  }
}
