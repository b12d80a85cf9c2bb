/** One step of reinforcement fine-tuning: sampling, scoring, gradients and an update. */
import type { Engine, TokenRow } from '@trinity-rft/core/engine';

/** Size of a step. A step samples responses to one prompt. */
export interface StepSize {
  readonly answers: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
}

interface Sampled {
  readonly rows: readonly TokenRow[];
  readonly logprobs: readonly number[];
}

/**
 * Publishes the current weights as `version`, switches the sampler to them and samples responses to
 * one prompt.
 */
export async function sampleRows(
  { trainer, sampler }: Engine,
  version: number,
  { answers, promptTokens, answerTokens }: StepSize,
): Promise<Sampled> {
  await trainer.publish(version);
  await sampler.adopt({ kind: 'published' }, version);
  const prompt = Int32Array.from({ length: promptTokens }, (_, i) => i + 1);
  const options = { n: answers, maxTokens: answerTokens, seed: version };
  const sequences = await sampler.sample(prompt, options);
  return {
    rows: sequences.map(({ tokens }) => ({
      tokens: Int32Array.from([...prompt, ...tokens]),
      promptLength: promptTokens,
      temperature: 1,
    })),
    logprobs: sequences.flatMap(({ logprobs }) => [...logprobs]),
  };
}

/**
 * Trains on the rows for one step, with arbitrary gradients of both signs. Returns the
 * log-probabilities before the update.
 */
export async function trainOn(
  { trainer }: Engine,
  rows: readonly TokenRow[],
): Promise<Float32Array> {
  const pass = await trainer.forward({ rows });
  await trainer.backward(pass, { logprobs: pass.logprobs.map((_, i) => (i % 2 ? 0.1 : -0.1)) });
  await trainer.step({ learningRate: 1e-3, clipGradNorm: 0 });
  return pass.logprobs;
}

/**
 * Returns the largest absolute difference between two arrays, or `Number.MAX_VALUE` if a difference
 * is not finite or the lengths differ.
 */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let most = a.length === b.length ? 0 : Number.MAX_VALUE;
  for (let i = 0; i < a.length; i++) {
    const gap = Math.abs((a[i] ?? NaN) - (b[i] ?? NaN));
    most = Math.max(most, Number.isFinite(gap) ? gap : Number.MAX_VALUE);
  }
  return most;
}

/** Counts the positions at which two arrays differ in any bit. */
export const countUnequal = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, i) => i).filter(
    (i) => !Object.is(a[i], b[i]),
  ).length;
