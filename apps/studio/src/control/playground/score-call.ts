import type { TrainEngine } from '@trinity-rft/core/engine';
import type { Scored } from '../interface/index.js';
import type { CallToScore } from './protocol.js';

/**
 * Computes log-probabilities of a recorded call's tokens as the trainer does: under the full
 * distribution, at the temperature of the sampling.
 */
export async function scoreCall(
  trainer: TrainEngine,
  { id, tokens, promptLength, temperature, recorded }: CallToScore,
): Promise<Extract<Scored, { kind: 'call' }>> {
  const row = {
    tokens: Int32Array.from(tokens),
    promptLength,
    // Greedy answers have temperature 0, and are scored at temperature 1.
    temperature: temperature > 0 ? temperature : 1,
  };
  const { logprobs, entropy } = await trainer.forward({ rows: [row] }, { entropy: true });
  return {
    kind: 'call',
    id,
    logprobs: Array.from(logprobs, finiteOrNull),
    entropy: Array.from(entropy ?? [], finiteOrNull),
    ratios: recorded.map((before, i) =>
      before === null ? null : finiteOrNull(Math.exp((logprobs[i] ?? Number.NaN) - before)),
    ),
  };
}

const finiteOrNull = (value: number): number | null => (Number.isFinite(value) ? value : null);
