/** What a loss may be given: aligned arrays of finite numbers. */
import { EngineError, InvariantError, type LossInput } from '@trinity-rft/core';

export type LossField = 'currentLogprobs' | 'oldLogprobs' | 'advantages' | 'refLogprobs' | 'entropy';

/**
 * Looks at trained tokens only: what masked ones hold has no influence.
 * @throws InvariantError when arrays are not aligned, EngineError naming row and token when a number is not finite
 */
export function checkLossInput(input: LossInput, fields: readonly LossField[]): void {
  const { offsets, actionMask } = input;
  const size = offsets.at(-1);
  if (offsets[0] !== 0 || size !== actionMask.length) {
    throw new InvariantError(
      `The rows of a loss input cover tokens ${offsets[0]} to ${size}; expected 0 to ${actionMask.length}, the length of actionMask.`,
      { code: 'LOSS_INPUT_MISALIGNED' },
    );
  }
  for (const field of fields) {
    const values = input[field];
    if (!values) continue;
    if (values.length !== size)
      throw new InvariantError(`${field} has ${values.length} entries; expected one per response token, ${size}.`, {
        code: 'LOSS_INPUT_MISALIGNED',
      });
    const bad = values.findIndex((value, t) => actionMask[t] === 1 && !Number.isFinite(value));
    if (bad >= 0) throw notFinite(input, field, bad, values[bad]!);
  }
}

function notFinite({ offsets }: LossInput, field: LossField, t: number, value: number): EngineError {
  const row = offsets.findLastIndex((offset) => offset <= t);
  return new EngineError(
    `${field} is ${value} at response token ${t - offsets[row]!} of row ${row}; expected a finite number. Lower the learning rate, or look at that row.`,
    {
      code: 'LOSS_INPUT_NOT_FINITE',
      details: { field, row, token: t - offsets[row]! },
    },
  );
}
