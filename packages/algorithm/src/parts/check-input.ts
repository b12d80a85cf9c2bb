/** Checks the inputs of losses and advantages, which must be aligned arrays of finite numbers. */
import { type LossInput, EngineError, InvariantError } from '@trinity-rft/core';
import type { AdvantageInput, ValueLossInput } from '@trinity-rft/core/internal';

export type LossField =
  | 'currentLogprobs'
  | 'oldLogprobs'
  | 'advantages'
  | 'refLogprobs'
  | 'entropy';
export type AdvantageField =
  | 'rewards'
  | 'oldLogprobs'
  | 'values'
  | 'refLogprobs'
  | 'teacherLogprobs'
  | 'entropy';

interface Batch {
  readonly offsets: Int32Array;
  readonly actionMask: Uint8Array;
}

/**
 * Checks the trained tokens of a loss input. Values at masked tokens have no effect and are not
 * checked. Optional fields may be missing; functions that read such a field must check that it is
 * present.
 * @throws InvariantError if arrays are misaligned; EngineError if a number is not finite; its
 * message names row and token
 */
export function checkLossInput(input: LossInput, fields: readonly LossField[]): void {
  checkRows('loss', input);
  checkExpertMask(input);
  for (const field of fields) checkField(input, field, input[field]);
}

/**
 * Like {@link checkLossInput}, but also checks rewards and values at masked tokens. These have an
 * effect: a row's reward is at its last token, which may be masked, and returns are accumulated
 * over all tokens.
 */
export function checkAdvantageInput(
  input: AdvantageInput,
  fields: readonly AdvantageField[],
): void {
  checkRows('advantage', input);
  for (const field of fields)
    checkField(input, field, input[field], field === 'rewards' || field === 'values');
}

/** Like {@link checkLossInput}, for the input of a critic's loss. */
export function checkValueLossInput(input: ValueLossInput): void {
  checkRows('value loss', input);
  for (const field of ['values', 'oldValues', 'returns'] as const)
    checkField(input, field, input[field]);
}

function checkRows(kind: string, { offsets, actionMask }: Batch): void {
  const size = offsets.at(-1);
  if (offsets[0] === 0 && size === actionMask.length) return;
  throw new InvariantError(
    `The rows of a ${kind} input cover tokens ${offsets[0]} to ${size}; expected 0 to ${actionMask.length}, the length of actionMask.`,
    { code: 'LOSS_INPUT_MISALIGNED' },
  );
}

function checkField(
  batch: Batch,
  field: string,
  values: Float32Array | undefined,
  everywhere = false,
): void {
  if (!values) return;
  checkLength(batch, field, values);
  const { actionMask } = batch;
  for (let t = 0; t < values.length; t++) {
    if ((everywhere || actionMask[t] === 1) && !Number.isFinite(values[t]!))
      throw notFinite(batch, field, t, values[t]!);
  }
}

function checkLength({ actionMask }: Batch, field: string, values: Float32Array | undefined): void {
  if (!values || values.length === actionMask.length) return;
  throw new InvariantError(
    `${field} has ${values.length} entries; expected one per response token, ${actionMask.length}.`,
    { code: 'LOSS_INPUT_MISALIGNED' },
  );
}

function checkExpertMask({ offsets, expertMask }: LossInput): void {
  if (!expertMask || expertMask.length === offsets.length - 1) return;
  throw new InvariantError(
    `expertMask has ${expertMask.length} entries; expected one per row, ${offsets.length - 1}.`,
    { code: 'LOSS_INPUT_MISALIGNED' },
  );
}

function notFinite({ offsets }: Batch, field: string, t: number, value: number): EngineError {
  const row = offsets.findLastIndex((offset) => offset <= t);
  return new EngineError(
    `${field} is ${value} at response token ${t - offsets[row]!} of row ${row}; expected a finite number. Lower the learning rate, or look at that row.`,
    {
      code: 'LOSS_INPUT_NOT_FINITE',
      details: { field, row, token: t - offsets[row]! },
    },
  );
}
