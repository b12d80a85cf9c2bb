/**
 * Forward and backward pass of the fake engine, and functions that iterate over the rows of a
 * batch.
 */
import { EngineError } from '@trinity-rft/core';
import type {
  ForwardOptions,
  ForwardPass,
  TokenBatch,
  TokenGradients,
} from '@trinity-rft/core/engine';
import { addGradient, assertTokens, nextToken, type Bigram } from './bigram.js';

/**
 * Computes the log-probability of every response token and, if requested, its entropy and `necs`.
 */
export function forwardPass(
  model: Bigram,
  batch: TokenBatch,
  options: ForwardOptions,
): ForwardPass {
  const offsets = responseOffsets(model.vocabSize, batch);
  const total = offsets.at(-1)!;
  const logprobs = new Float32Array(total);
  const entropy = options.entropy ? new Float32Array(total) : undefined;
  const necs = options.necs ? new Float32Array(total) : undefined;
  eachResponseToken(batch, offsets, ({ previous, token, temperature, index }) => {
    const distribution = nextToken(model, previous, temperature);
    logprobs[index] = Math.min(0, distribution.logprobs[token]!);
    if (entropy) entropy[index] = distribution.entropy;
    if (necs) necs[index] = distribution.necs;
  });
  return { batch, offsets, logprobs, entropy, necs };
}

/**
 * Adds the gradient of sum(gradients.logprobs * logprobs + gradients.entropy * entropy) to `into`.
 */
export function backwardPass(
  model: Bigram,
  pass: ForwardPass,
  gradients: TokenGradients,
  into: Float64Array,
): void {
  assertLength('gradients.logprobs', gradients.logprobs, pass.offsets);
  if (gradients.entropy) assertLength('gradients.entropy', gradients.entropy, pass.offsets);
  eachResponseToken(pass.batch, pass.offsets, ({ index, ...at }) => {
    const coefficients = {
      logprob: gradients.logprobs[index]!,
      entropy: gradients.entropy?.[index] ?? 0,
    };
    if (coefficients.logprob !== 0 || coefficients.entropy !== 0)
      addGradient(model, into, at, coefficients);
  });
}

interface ResponseToken {
  readonly previous: number;
  readonly token: number;
  readonly temperature: number;
  /** Index of the token in arrays with one element per response token of the batch. */
  readonly index: number;
}

/** Calls `visit` for each response token of all rows, in order. */
export function eachResponseToken(
  batch: TokenBatch,
  offsets: Int32Array,
  visit: (at: ResponseToken) => void,
): void {
  for (const [row, { tokens, promptLength, temperature }] of batch.rows.entries()) {
    for (let position = promptLength; position < tokens.length; position++) {
      visit({
        previous: tokens[position - 1]!,
        token: tokens[position]!,
        temperature,
        index: offsets[row]! + position - promptLength,
      });
    }
  }
}

/**
 * Returns the offset of each row in arrays with one element per response token, followed by the
 * total length. [B + 1]
 * @throws EngineError if a row is invalid
 */
export function responseOffsets(vocabSize: number, batch: TokenBatch): Int32Array {
  const offsets = new Int32Array(batch.rows.length + 1);
  for (const [row, { tokens, promptLength, temperature }] of batch.rows.entries()) {
    if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length) {
      throw new EngineError(
        `Row ${row} has promptLength ${promptLength} with ${tokens.length} tokens; ` +
          'expected 1 <= promptLength < tokens.length.',
        { code: 'ROW_INVALID' },
      );
    }
    if (!(temperature > 0))
      throw new EngineError(
        `Row ${row} has temperature ${temperature}; expected a number above 0.`,
        { code: 'ROW_INVALID' },
      );
    assertTokens(vocabSize, tokens, `Row ${row}`);
    offsets[row + 1] = offsets[row]! + tokens.length - promptLength;
  }
  return offsets;
}

/**
 * Checks that `values` has one number per response token.
 * @throws EngineError if its length is different
 */
export function assertLength(name: string, values: Float32Array, offsets: Int32Array): void {
  if (values.length === offsets.at(-1)) return;
  throw new EngineError(
    `${name} has ${values.length} entries; expected one per response token, ${offsets.at(-1)}.`,
    { code: 'GRADIENT_LENGTH' },
  );
}
