/** How often the trainer of a stage uses an experience. */
import { epochs, priorityReplay, type Reuse } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import type { Runtime } from '@trinity-rft/core';

/** Undefined: once, first in, first out. */
export function reuseOf(
  { mode, buffer, trainer, synchronizer, seed }: StageConfig,
  { clock }: Pick<Runtime, 'clock'>,
): Reuse | undefined {
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file') return undefined;
  const { replay, capacity } = config;
  const { totalEpochs } = buffer;
  const isBounded = (trainer.totalSteps ?? buffer.totalSteps) !== undefined;
  if (replay)
    return priorityReplay({
      ...replay,
      seed,
      capacity,
      // The trainer of the fixed style waits for the explorer, which makes its steps repeatable.
      needsNew:
        mode === 'both' &&
        (synchronizer.syncStyle === 'fixed' || synchronizer.maxStaleness !== undefined),
      endsWithoutNew: mode !== 'train' || !isBounded,
      clock,
    });
  return mode === 'train' && totalEpochs > 1 ? epochs({ totalEpochs, seed, clock }) : undefined;
}
