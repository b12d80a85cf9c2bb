import { epochs, priorityReplay, type Reuse } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import { stalenessBoundOf } from '@trinity-rft/config/internal';
import type { Runtime } from '@trinity-rft/core';

/**
 * Returns the rule for training on experiences more than once. Returns undefined if each experience
 * is used once, in the order of arrival.
 */
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
      // With a staleness bound, the trainer waits for the explorer. In the fixed style, the train
      // steps are then repeatable.
      needsNew: mode === 'both' && stalenessBoundOf(synchronizer) !== undefined,
      endsWithoutNew: mode !== 'train' || !isBounded,
      clock,
    });
  return mode === 'train' && totalEpochs > 1 ? epochs({ totalEpochs, seed, clock }) : undefined;
}
