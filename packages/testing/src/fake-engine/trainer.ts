/** The training half of the fake engine. */
import { EngineError, type ForwardOptions, type ForwardPass, type TokenBatch, type TokenGradients } from '@trinity-rft/core';
import { addGradient, assertTokens, nextToken, type Bigram } from './bigram.js';

/** Scores every response token of a batch. */
export function forwardPass(model: Bigram, batch: TokenBatch, options: ForwardOptions): ForwardPass {
  const offsets = offsetsOf(model, batch);
  const total = offsets.at(-1)!;
  const logprobs = new Float32Array(total);
  const entropy = options.entropy ? new Float32Array(total) : undefined;
  eachResponseToken(batch, offsets, ({ previous, token, temperature, index }) => {
    const distribution = nextToken(model, previous, temperature);
    logprobs[index] = Math.min(0, distribution.logprobs[token]!);
    if (entropy) entropy[index] = distribution.entropy;
  });
  return { batch, offsets, logprobs, ...(entropy && { entropy }) };
}

/** Adds the gradient of sum(gradients.logprobs * logprobs + gradients.entropy * entropy) to `into`. */
export function backwardPass(model: Bigram, pass: ForwardPass, gradients: TokenGradients, into: Float64Array): void {
  assertLength('gradients.logprobs', gradients.logprobs, pass);
  if (gradients.entropy) assertLength('gradients.entropy', gradients.entropy, pass);
  eachResponseToken(pass.batch, pass.offsets, ({ index, ...at }) => {
    const wanted = { logprob: gradients.logprobs[index]!, entropy: gradients.entropy?.[index] ?? 0 };
    if (wanted.logprob !== 0 || wanted.entropy !== 0) addGradient(model, into, at, wanted);
  });
}

interface ResponseToken {
  readonly previous: number;
  readonly token: number;
  readonly temperature: number;
  readonly index: number;
}

function eachResponseToken(batch: TokenBatch, offsets: Int32Array, visit: (at: ResponseToken) => void): void {
  for (const [row, { tokens, promptLength, temperature }] of batch.rows.entries()) {
    for (let position = promptLength; position < tokens.length; position++) {
      visit({ previous: tokens[position - 1]!, token: tokens[position]!, temperature, index: offsets[row]! + position - promptLength });
    }
  }
}

function offsetsOf(model: Bigram, batch: TokenBatch): Int32Array {
  const offsets = new Int32Array(batch.rows.length + 1);
  for (const [row, { tokens, promptLength, temperature }] of batch.rows.entries()) {
    if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length) {
      throw new EngineError(
        `Row ${row} has promptLength ${promptLength} with ${tokens.length} tokens; expected 1 <= promptLength < tokens.length.`,
        { code: 'ROW_INVALID' },
      );
    }
    if (!(temperature > 0))
      throw new EngineError(`Row ${row} has temperature ${temperature}; expected a number above 0.`, { code: 'ROW_INVALID' });
    assertTokens(model, tokens, `Row ${row}`);
    offsets[row + 1] = offsets[row]! + tokens.length - promptLength;
  }
  return offsets;
}

function assertLength(name: string, values: Float32Array, pass: ForwardPass): void {
  if (values.length === pass.logprobs.length) return;
  throw new EngineError(`${name} has ${values.length} entries; expected one per response token, ${pass.logprobs.length}.`, {
    code: 'GRADIENT_LENGTH',
  });
}
