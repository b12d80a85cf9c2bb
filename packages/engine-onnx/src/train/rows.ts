/**
 * Prepares the rows of a batch for the trainer: validates and numbers them, and computes their
 * offsets in per-token arrays.
 */
import { EngineError } from '@trinity-rft/core';
import type { TokenBatch, TokenRow } from '@trinity-rft/core/engine';
import type { ModelConfig } from '../model/config.js';

/** One sequence with response tokens to score. */
export interface Row {
  /** Index in the batch. */
  readonly index: number;
  readonly tokens: Int32Array;
  readonly promptLength: number;
  readonly inverseTemperature: number;
  /** Index of the row's first response token in per-token arrays. */
  readonly offset: number;
  /** Number of response tokens. */
  readonly count: number;
}

/**
 * Returns the offset of each row's response tokens in per-token arrays, followed by the total. [B +
 * 1]
 */
export function responseOffsets(batch: TokenBatch): Int32Array {
  const offsets = new Int32Array(batch.rows.length + 1);
  batch.rows.forEach(
    (row, i) => (offsets[i + 1] = offsets[i]! + Math.max(0, row.tokens.length - row.promptLength)),
  );
  return offsets;
}

/** Returns the total number of response tokens. */
export const tokenCount = (offsets: Int32Array): number => offsets.at(-1) ?? 0;

/**
 * Validates and numbers the rows of a batch.
 * @throws EngineError naming the first row that cannot be scored, with the reason
 */
export function checkedRows(
  batch: TokenBatch,
  offsets: Int32Array,
  config: ModelConfig,
): readonly Row[] {
  return batch.rows.map((row, index) => {
    const problem = problemOf(row, config);
    if (problem)
      throw new EngineError(
        `Row ${index} of the batch ${problem.found}; expected ${problem.expected}.`,
        { code: 'ENGINE_ROW', details: { row: index } },
      );
    const { tokens, promptLength, temperature } = row;
    return {
      index,
      tokens,
      promptLength,
      inverseTemperature: 1 / temperature,
      offset: offsets[index]!,
      count: tokens.length - promptLength,
    };
  });
}

/** Returns the problem of a row and the expected value, or undefined if the row is valid. */
function problemOf(
  { tokens, promptLength, temperature }: TokenRow,
  { maxPositions, vocabSize }: ModelConfig,
): { readonly found: string; readonly expected: string } | undefined {
  if (!Number.isInteger(promptLength) || promptLength < 1)
    return {
      found: `has a prompt of ${promptLength} tokens`,
      expected: 'at least 1, because the first token has no context to be predicted from',
    };
  if (tokens.length <= promptLength)
    return {
      found: `has ${tokens.length} tokens but a prompt of ${promptLength}`,
      expected: 'at least one token after the prompt',
    };
  if (tokens.length > maxPositions)
    return {
      found: `has ${tokens.length} tokens`,
      expected: `at most ${maxPositions}, the number of positions of the model`,
    };
  if (!(temperature > 0) || !Number.isFinite(1 / temperature))
    return { found: `has the temperature ${temperature}`, expected: 'a positive number' };
  const invalid = tokens.find((token) => token < 0 || token >= vocabSize);
  if (invalid === undefined) return undefined;
  return {
    found: `has the token id ${invalid}`,
    expected: `ids from 0 to ${vocabSize - 1}, the rows of the embeddings; use the tokenizer of this model`,
  };
}

/**
 * Checks that all numbers are finite.
 * @throws EngineError naming the row and response token of the first number that is not
 */
export function assertFinite(what: string, numbers: Float32Array, offsets: Int32Array): void {
  const at = numbers.findIndex((x) => !Number.isFinite(x));
  if (at < 0) return;
  const row = offsets.findLastIndex((offset) => offset <= at);
  const token = at - (offsets[row] ?? 0);
  throw new EngineError(
    `${what} of response token ${token} in row ${row} is ${numbers[at]}, which is not a finite ` +
      'number; training on it would destroy the weights.',
    { code: 'ENGINE_NOT_FINITE', details: { row, token } },
  );
}

/**
 * Checks that there is exactly one number per response token.
 * @throws EngineError when there is not
 */
export function assertPerToken(what: string, numbers: Float32Array, offsets: Int32Array): void {
  const expected = tokenCount(offsets);
  if (numbers.length === expected) return;
  throw new EngineError(
    `${what} have ${numbers.length} numbers; expected ${expected}, one per response token of the ` +
      'batch.',
    { code: 'ENGINE_GRADIENT_SHAPE' },
  );
}
