/** Experiences packed for the engine and the loss: rows one after the other, with offsets. */
import { assertAligned, BufferError, responseLength, uid, type Experience, type LossInput, type TokenBatch } from '@trinity-rft/core';

export interface PackedBatch {
  readonly tokens: TokenBatch;
  /** Everything of {@link LossInput} that does not need the model. */
  readonly static: Pick<LossInput, 'offsets' | 'actionMask' | 'oldLogprobs' | 'advantages'>;
}

/** @throws BufferError when rollouts are needed and an experience has no advantages */
export function packBatch(experiences: readonly Experience[], options: { readonly rollouts: boolean }): PackedBatch {
  const offsets = new Int32Array(experiences.length + 1);
  experiences.forEach((experience, row) => {
    assertAligned(experience);
    if (options.rollouts && !experience.advantages) throw missingAdvantages(experience);
    offsets[row + 1] = offsets[row]! + responseLength(experience);
  });
  const total = offsets[experiences.length]!;
  const actionMask = new Uint8Array(total);
  const oldLogprobs = new Float32Array(total);
  const advantages = new Float32Array(total);
  experiences.forEach((experience, row) => {
    actionMask.set(experience.actionMask, offsets[row]);
    oldLogprobs.set(experience.logprobs, offsets[row]);
    if (experience.advantages) advantages.set(experience.advantages, offsets[row]);
  });
  const rows = experiences.map(({ tokens, promptLength, temperature }) => ({
    tokens,
    promptLength,
    temperature: temperature > 0 ? temperature : 1,
  }));
  return { tokens: { rows }, static: { offsets, actionMask, oldLogprobs, advantages } };
}

function missingAdvantages(experience: Experience): BufferError {
  return new BufferError(
    `Experience ${uid(experience.eid)} has no advantages; the algorithm needs them. Store experiences that went through the advantage function, or train with sft.`,
    { code: 'ADVANTAGES_MISSING' },
  );
}
