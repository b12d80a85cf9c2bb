/**
 * Checks per-token values that are passed between parts of the train step. There must be one value
 * per token, and all values must be finite.
 */
import { EngineError, InvariantError, uid } from '@trinity-rft/core';
import type { PackedBatch } from './pack.js';

/**
 * Checks the values of the tokens that `mask` keeps, or of all tokens if there is no mask.
 * @throws EngineError naming the experience and token of the first value that is not finite;
 * InvariantError if there is not one value per token
 */
export function assertFinite(
  batch: Pick<PackedBatch, 'calls' | 'static'>,
  what: string,
  values: Float32Array,
  options: { readonly mask?: Uint8Array; readonly fix?: string; readonly code?: string } = {},
): void {
  const {
    mask,
    fix = 'Lower the learning rate, or look at that experience',
    code = 'NUMBER_NOT_FINITE',
  } = options;
  const total = batch.static.offsets.at(-1);
  if (values.length !== total)
    throw new InvariantError(
      `${what} has ${values.length} entries; expected one per response token, ${total}.`,
      { code: 'NUMBERS_MISALIGNED' },
    );
  const index = firstNotFinite(values, mask);
  const call = batch.calls.find(({ start, end }) => start <= index && index < end);
  if (!call) return;
  const { experience, span, start } = call;
  const name = uid(experience.eid);
  throw new EngineError(
    `${what} of experience ${name}, response token ${span.start + index - start}, is ${values[index]}; expected a finite number. ${fix}.`,
    { code, details: { uid: name } },
  );
}

/**
 * Returns the index of the first number that is not finite, or -1. A plain loop is used, because
 * batches have millions of tokens.
 */
function firstNotFinite(values: Float32Array, mask: Uint8Array | undefined): number {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    // The difference is 0 for finite values, and NaN for NaN and infinite values.
    if (value - value !== 0 && (!mask || mask[i] === 1)) return i;
  }
  return -1;
}

/**
 * Checks that a loss is finite.
 * @throws EngineError if the loss is NaN or infinite
 */
export function assertFiniteLoss(what: string, loss: number): void {
  if (Number.isFinite(loss)) return;
  throw new EngineError(
    `${what} of the batch is ${loss}; expected a finite number. Look at rewards, advantages and log-probabilities.`,
    { code: 'LOSS_NOT_FINITE' },
  );
}
