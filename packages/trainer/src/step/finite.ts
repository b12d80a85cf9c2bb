/**
 * Numbers that pass from one part of the train step to the next: aligned and finite, or an error
 * that names the experience.
 */
import { EngineError, InvariantError, uid } from '@trinity-rft/core';
import type { PackedBatch } from './pack.js';

/**
 * Looks at tokens that `mask` keeps; what others hold has no influence.
 * @throws EngineError naming experience and token of the first number that is not finite,
 * InvariantError when there is not one per token
 */
export function assertFinite(
  batch: Pick<PackedBatch, 'calls' | 'static'>,
  what: string,
  values: Float32Array,
  options: { readonly mask?: Uint8Array; readonly cure?: string; readonly code?: string } = {},
): void {
  const { offsets } = batch.static;
  const {
    mask,
    cure = 'Lower the learning rate, or look at that experience',
    code = 'NUMBER_NOT_FINITE',
  } = options;
  if (values.length !== offsets.at(-1))
    throw new InvariantError(
      `${what} has ${values.length} entries; expected one per response token, ${offsets.at(-1)}.`,
      {
        code: 'NUMBERS_MISALIGNED',
      },
    );
  const bad = firstBad(values, mask);
  if (bad < 0) return;
  // Of rows without tokens, which begin at the same place, the last one holds it.
  const row = offsets.findLastIndex((offset) => offset <= bad);
  const { experience, span } = batch.calls[row]!;
  const name = uid(experience.eid);
  throw new EngineError(
    `${what} of experience ${name}, response token ${span.start + bad - offsets[row]!}, is ${values[bad]}; expected a finite number. ${cure}.`,
    { code, details: { uid: name } },
  );
}

/** A loop without calls: batches have millions of tokens. */
function firstBad(values: Float32Array, mask: Uint8Array | undefined): number {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    // Infinite minus infinite is NaN.
    if (value - value !== 0 && (!mask || mask[i] === 1)) return i;
  }
  return -1;
}

/** @throws EngineError when a loss is not a finite number */
export function assertFiniteLoss(what: string, loss: number): void {
  if (Number.isFinite(loss)) return;
  throw new EngineError(
    `${what} of the batch is ${loss}; expected a finite number. Look at rewards, advantages and log-probabilities.`,
    {
      code: 'LOSS_NOT_FINITE',
    },
  );
}
