/**
 * The rows of a batch as the trainer sees them: checked, numbered, and with their place in the
 * per-token arrays.
 */
import { EngineError, type TokenBatch } from '@trinity-rft/core';
import type { ModelConfig } from '../model/config.js';

/** One sequence with something to score. */
export interface Row {
  /** Index in the batch. */
  readonly index: number;
  readonly tokens: Int32Array;
  readonly promptLength: number;
  readonly inverseTemperature: number;
  /** First response token in the per-token arrays. */
  readonly offset: number;
  /** Response tokens. */
  readonly count: number;
}

/** Offsets of the rows' response tokens. [B + 1] */
export function responseOffsets(batch: TokenBatch): Int32Array {
  const offsets = new Int32Array(batch.rows.length + 1);
  batch.rows.forEach(
    (row, i) => (offsets[i + 1] = offsets[i]! + Math.max(0, row.tokens.length - row.promptLength)),
  );
  return offsets;
}

/** @throws EngineError naming the first row that cannot be scored, and why */
export function checkedRows(
  batch: TokenBatch,
  offsets: Int32Array,
  config: ModelConfig,
): readonly Row[] {
  return batch.rows.map(({ tokens, promptLength, temperature }, index) => {
    const count = tokens.length - promptLength;
    const fail = (found: string, expected: string): never => {
      throw new EngineError(`Row ${index} of the batch ${found}; expected ${expected}.`, {
        code: 'ENGINE_ROW',
        details: { row: index },
      });
    };
    if (!Number.isInteger(promptLength) || promptLength < 1)
      fail(
        `has a prompt of ${promptLength} tokens`,
        'at least 1, because the first token is predicted from nothing',
      );
    if (count < 1)
      fail(
        `has ${tokens.length} tokens but a prompt of ${promptLength}`,
        'at least one token after the prompt',
      );
    if (tokens.length > config.maxPositions)
      fail(
        `has ${tokens.length} tokens`,
        `at most ${config.maxPositions}, which is all the model has positions for`,
      );
    if (!(temperature > 0) || !Number.isFinite(1 / temperature))
      fail(`has the temperature ${temperature}`, 'a positive number');
    const stray = tokens.find((token) => token < 0 || token >= config.vocabSize);
    if (stray !== undefined)
      fail(
        `has the token id ${stray}`,
        `ids from 0 to ${config.vocabSize - 1}; was it tokenized with another model's tokenizer?`,
      );
    return {
      index,
      tokens,
      promptLength,
      inverseTemperature: 1 / temperature,
      offset: offsets[index]!,
      count,
    };
  });
}

/**
 * @throws EngineError naming the row and the response token of the first number that is not finite
 */
export function assertFinite(what: string, numbers: Float32Array, offsets: Int32Array): void {
  const at = numbers.findIndex((x) => !Number.isFinite(x));
  if (at < 0) return;
  const row = offsets.findLastIndex((offset) => offset <= at);
  throw new EngineError(
    `${what} of response token ${at - offsets[row]!} in row ${row} is ${numbers[at]}, which is not a finite number; training on it would destroy the weights.`,
    { code: 'ENGINE_NOT_FINITE', details: { row, token: at - offsets[row]! } },
  );
}

/** @throws EngineError when `numbers` are not one per response token */
export function assertPerToken(what: string, numbers: Float32Array, offsets: Int32Array): void {
  const expected = offsets.at(-1)!;
  if (numbers.length === expected) return;
  throw new EngineError(
    `${what} have ${numbers.length} numbers; expected ${expected}, one per response token of the batch.`,
    {
      code: 'ENGINE_GRADIENT_SHAPE',
    },
  );
}
