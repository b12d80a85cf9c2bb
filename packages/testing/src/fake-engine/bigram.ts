/**
 * The bigram model of the fake engine: a table of logits, with a row for each previous token and a
 * column for each next token.
 */
import { createRandom, EngineError } from '@trinity-rft/core';

export interface Bigram {
  /** Number of token ids, V. */
  readonly vocabSize: number;
  /** Logits as a row-major matrix [V, V]. The logit of token j after token i is at `i * V + j`. */
  readonly weights: Float64Array;
}

/** Creates a model with normally distributed logits. Their standard deviation is `scale`. */
export function createBigram(vocabSize: number, seed: number, scale: number): Bigram {
  const random = createRandom(seed);
  return {
    vocabSize,
    weights: Float64Array.from({ length: vocabSize * vocabSize }, () => scale * random.normal()),
  };
}

export interface Distribution {
  /** Log-probabilities, in nats. [V] */
  readonly logprobs: Float64Array;
  /** Entropy of the distribution, in nats: -sum p log p. */
  readonly entropy: number;
  /** Value of H sum p^2 + sum p^2 log p, where p are the probabilities and H is the entropy. */
  readonly necs: number;
}

/** Returns the distribution of the token after `previous`: softmax(logits / temperature). */
export function nextToken(model: Bigram, previous: number, temperature: number): Distribution {
  const { vocabSize, weights } = model;
  const logits = weights.subarray(previous * vocabSize, (previous + 1) * vocabSize);
  let max = -Infinity;
  for (const logit of logits) max = Math.max(max, logit / temperature);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit / temperature - max);
  const logSum = max + Math.log(sum);
  const logprobs = logits.map((logit) => logit / temperature - logSum);
  let entropy = 0;
  for (const logprob of logprobs) entropy -= Math.exp(logprob) * logprob;
  let necs = 0;
  for (const logprob of logprobs) necs += Math.exp(2 * logprob) * (entropy + logprob);
  return { logprobs, entropy, necs };
}

/**
 * Adds the gradient of logprob * log p_t + entropy * H to `gradient` [V, V]. The gradient is with
 * respect to the logits after `previous`. Here `logprob` and `entropy` are the coefficients, p are
 * the probabilities, H is their entropy, t is `token` and T is the temperature. d log p_t/d logit_j
 * = (1[j = t] - p_j) / T; dH/d logit_j = -p_j (log p_j + H) / T.
 */
export function addGradient(
  model: Bigram,
  gradient: Float64Array,
  at: { readonly previous: number; readonly token: number; readonly temperature: number },
  coefficients: { readonly logprob: number; readonly entropy: number },
): void {
  const { logprobs, entropy } = nextToken(model, at.previous, at.temperature);
  const row = at.previous * model.vocabSize;
  for (let j = 0; j < model.vocabSize; j++) {
    const probability = Math.exp(logprobs[j]!);
    const ofLogprob = (j === at.token ? 1 : 0) - probability;
    const ofEntropy = -probability * (logprobs[j]! + entropy);
    gradient[row + j]! +=
      (coefficients.logprob * ofLogprob + coefficients.entropy * ofEntropy) / at.temperature;
  }
}

/**
 * Checks that all token ids are within the vocabulary.
 * @throws EngineError if an id is outside the vocabulary
 */
export function assertTokens(vocabSize: number, tokens: Int32Array, what: string): void {
  const invalid = tokens.findIndex((token) => token < 0 || token >= vocabSize);
  if (invalid < 0) return;
  throw new EngineError(
    `${what} holds token ${tokens[invalid]} at position ${invalid}; ` +
      `expected ids from 0 to ${vocabSize - 1}.`,
    { code: 'TOKEN_OUT_OF_RANGE' },
  );
}
