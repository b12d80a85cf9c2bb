/**
 * Losses that the server can compute itself, so that a single pass yields both log-probabilities
 * and gradients.
 */
import { EngineError } from '@trinity-rft/core';
import type { ExpectedLoss, TokenRow } from '@trinity-rft/core/engine';
import type { Datum } from '../../protocol/index.js';
import type { GradientPass, Normalisation } from './gradients.js';
import { datumOf } from './rows.js';

/**
 * Losses of the protocol, other than cross-entropy, whose definitions match {@link ExpectedLoss}.
 */
export type ServerLoss = 'importance_sampling' | 'ppo' | 'cispo';

/** Behaviour of the server with respect to losses, as measured. */
export interface LossTraits {
  readonly normalisation: Normalisation;
  readonly losses: ReadonlySet<ServerLoss>;
}

/**
 * Returns the server's settings for the clipping bounds of a loss, or undefined if the loss has no
 * bounds.
 */
export const lossConfig = ({ name, low = 0, high }: Pick<ExpectedLoss, 'name' | 'low' | 'high'>) =>
  (name === 'ppo' || name === 'cispo') && high !== undefined
    ? { clip_low_threshold: low, clip_high_threshold: high }
    : undefined;

/**
 * Returns true if the server can compute a loss itself. The loss `linear` is computed as
 * cross-entropy, which servers that average losses divide by the sum of its weights. It therefore
 * needs a server that sums losses.
 */
export const canCompute = (
  { name }: ExpectedLoss,
  { normalisation, losses }: LossTraits,
): boolean => (name === 'linear' ? normalisation === 'sum' : losses.has(name));

/**
 * Creates the pass with which the server computes `loss`. Each datum contains one row and its loss
 * inputs.
 */
export function expectedPass(
  rows: readonly TokenRow[],
  loss: ExpectedLoss,
  normalisation: Normalisation,
): GradientPass {
  let start = 0;
  const data = rows.map((row): Datum => {
    const { tokens, promptLength } = row;
    const end = start + tokens.length - promptLength;
    const scale = normalisation === 'sum' ? 1 : (tokens.length - 1) * rows.length;
    const targets = (values: Float32Array, factor: number): Float32Array => {
      const all = new Float32Array(tokens.length - 1);
      for (const [t, value] of values.subarray(start, end).entries())
        all[promptLength - 1 + t] = value * factor;
      return all;
    };
    const advantages = targets(loss.advantages, scale);
    const inputs: Datum['inputs'] =
      loss.name === 'linear'
        ? { weights: advantages }
        : { logprobs: targets(loss.oldLogprobs, 1), advantages };
    start = end;
    return datumOf(row, inputs);
  });
  if (start !== loss.advantages.length)
    throw new EngineError(
      `The expected loss has ${loss.advantages.length} tokens, and the batch has ${start} response tokens.`,
      { code: 'ENGINE_GRADIENTS' },
    );
  const lossFn = loss.name === 'linear' ? 'cross_entropy' : loss.name;
  return { lossFn, data, lossConfig: lossConfig(loss) };
}

/**
 * Returns the derivative of the loss with respect to the log-probability of each response token.
 * [N] The server computes the same derivative.
 */
export const expectedGradient = (loss: ExpectedLoss, logprobs: Float32Array): Float32Array =>
  logprobs.map((logprob, t) => tokenLoss(loss, t, logprob).gradient);

/** Returns the loss of each response token. [N] */
export const expectedLosses = (loss: ExpectedLoss, logprobs: Float32Array): Float32Array =>
  logprobs.map((logprob, t) => tokenLoss(loss, t, logprob).loss);

function tokenLoss(
  { name, advantages, oldLogprobs, low = 0, high = Infinity }: ExpectedLoss,
  t: number,
  logprob: number,
): { readonly loss: number; readonly gradient: number } {
  const A = advantages[t] ?? 0;
  if (A === 0) return { loss: 0, gradient: 0 };
  const ratio = name === 'linear' ? 1 : Math.exp(logprob - (oldLogprobs[t] ?? 0));
  const bounded = Math.min(Math.max(ratio, low), high);
  if (name === 'linear' || name === 'cispo')
    return { loss: -A * bounded * logprob, gradient: -A * bounded };
  const isClipped = name === 'ppo' && A * bounded < A * ratio;
  return isClipped
    ? { loss: -A * bounded, gradient: 0 }
    : { loss: -A * ratio, gradient: -A * ratio };
}
