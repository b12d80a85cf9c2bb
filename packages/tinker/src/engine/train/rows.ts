/** Converts rows to the datums of a pass, and reads the log-probabilities from its result. */
import { EngineError } from '@trinity-rft/core';
import type { TokenRow } from '@trinity-rft/core/engine';
import type { Datum, ForwardBackwardResult } from '../../protocol/index.js';

/** Limits that rows must respect, given the server's model. */
export interface RowLimits {
  readonly vocabSize: number;
  readonly maxModelLen: number;
}

/**
 * Returns the targets of a row, which are all of its tokens except the first. The server predicts
 * each target from the tokens before it.
 */
const targetsOf = ({ tokens }: TokenRow): Int32Array => tokens.subarray(1);

export const datumOf = (row: TokenRow, inputs: Datum['inputs']): Datum => ({
  tokens: row.tokens.subarray(0, -1),
  inputs: { target_tokens: targetsOf(row), ...inputs },
});

/**
 * Returns a description of what is wrong with a row, worded to follow "The row", or undefined if
 * the row is valid. Also checks that ids are in the vocabulary, because servers may return NaN for
 * ids that are not.
 */
export function faultOf(row: TokenRow, { vocabSize, maxModelLen }: RowLimits): string | undefined {
  const { tokens, promptLength, temperature } = row;
  if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length)
    return `has ${tokens.length} tokens, ${promptLength} of them its prompt: expected a prompt and a response`;
  if (tokens.length > maxModelLen)
    return `has ${tokens.length} tokens, and the model takes ${maxModelLen}`;
  const foreign = tokens.findIndex((id) => id < 0 || id >= vocabSize);
  if (foreign >= 0)
    return `holds the id ${tokens[foreign]} at position ${foreign}, and the vocabulary ends at ${vocabSize - 1}`;
  if (temperature !== 1)
    return `has the temperature ${temperature}: a Tinker server scores at temperature 1 only. Sample with temperature: 1`;
  return undefined;
}

/**
 * Checks that all rows can be scored.
 * @throws EngineError that names the first row that cannot be scored
 */
export function checkRows(rows: readonly TokenRow[], limits: RowLimits): void {
  for (const [i, row] of rows.entries()) {
    const fault = faultOf(row, limits);
    if (fault === undefined) continue;
    throw new EngineError(`Row ${i} of the batch ${fault}.`, { code: 'ENGINE_ROWS' });
  }
}

/**
 * Returns the offset of each row's response in the concatenated responses, followed by their total
 * length. [B + 1]
 */
export function offsetsOf(rows: readonly TokenRow[]): Int32Array {
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, { tokens, promptLength }] of rows.entries())
    offsets[i + 1] = (offsets[i] ?? 0) + tokens.length - promptLength;
  return offsets;
}

/**
 * Returns the log-probabilities of the targets of each row.
 * @throws EngineError if the server returns the wrong number of values, or values that are not
 * finite
 */
export function logprobsOf(
  result: ForwardBackwardResult,
  data: readonly Datum[],
): readonly Float32Array[] {
  if (result.outputs.length !== data.length)
    throw answerFault(`${result.outputs.length} results for ${data.length} rows`);
  return data.map(({ tokens }, i) => {
    const values = result.outputs[i]?.['logprobs'];
    if (!(values instanceof Float32Array) || values.length !== tokens.length)
      throw answerFault(
        `${values?.length ?? 'no'} log-probabilities for ${tokens.length} tokens of row ${i}`,
      );
    const bad = values.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0)
      throw notFinite(`${values[bad]} as log-probability of token ${bad + 1} of row ${i}`);
    return values;
  });
}

const answerFault = (found: string): EngineError =>
  new EngineError(
    `The Tinker server answered ${found}: it runs another model than model.model_path names.`,
    { code: 'TINKER_ANSWER' },
  );

export const notFinite = (found: string): EngineError =>
  new EngineError(
    `The Tinker server answered ${found}. Its weights have become NaN, or it runs another model than model.model_path names. Adapters of a server may share their state: restart it, and start the run again from its last checkpoint.`,
    { code: 'TINKER_NOT_FINITE' },
  );
