/**
 * Samples tokens from a distribution. Temperature, top-k and top-p are applied in this order, as in
 * the embedded engine.
 */
import type { SamplingOptions } from '@trinity-rft/core/engine';

export interface Probable {
  readonly token: number;
  readonly logprob: number;
}

type Cut = Required<Pick<SamplingOptions, 'temperature' | 'topP' | 'topK'>>;

/**
 * Applies temperature, top-k and top-p. The probabilities of the result sum to 1.
 * @param full log-probabilities at temperature 1, in descending order
 */
export function cutDistribution(
  full: readonly Probable[],
  { temperature, topP, topK }: Cut,
): readonly Probable[] {
  const best = full[0]?.logprob ?? 0;
  if (temperature === 0) return full.slice(0, 1).map(({ token }) => ({ token, logprob: 0 }));
  const kept = topK > 0 ? full.slice(0, topK) : full;
  const weights = kept.map(({ logprob }) => Math.exp((logprob - best) / temperature));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  let count = 0;
  for (let share = 0; count < kept.length && share < topP * all; count++)
    share += weights[count] ?? 0;
  const left = weights.slice(0, count).reduce((sum, weight) => sum + weight, 0);
  return kept
    .slice(0, count)
    .map(({ token }, i) => ({ token, logprob: Math.log((weights[i] ?? 0) / left) }));
}

/**
 * Returns the first token at which the cumulative probability exceeds `uniform`.
 * @param uniform random number in [0, 1)
 */
export function drawFrom(distribution: readonly Probable[], uniform: number): Probable | undefined {
  let left = uniform;
  return distribution.find(({ logprob }) => (left -= Math.exp(logprob)) < 0) ?? distribution.at(-1);
}
