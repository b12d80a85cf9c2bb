/** Saves the weights of a model in training, and loads saved weights into it. */
import path from 'node:path';
import type { Engine } from '@trinity-rft/core/engine';
import type { WeightsKind } from '../../protocol/index.js';
import { completeAdapter } from './archive.js';
import type { Checkpoint } from './checkpoints.js';
import type { Service } from './service.js';
import type { TrainingRun } from './training-run.js';

/** Subfolder of a checkpoint that contains the same weights together with the optimizer moments. */
const resumeFolder = 'resume';

export interface SaveOptions {
  readonly kind: WeightsKind;
  readonly name: string;
  readonly overwrite: boolean;
  /** Lifetime in seconds. @default no expiry */
  readonly ttlSeconds?: number | null;
}

export function saveCheckpoint(
  { checkpoints, model, runtime }: Pick<Service, 'checkpoints' | 'model' | 'runtime'>,
  { facts }: TrainingRun,
  { trainer }: Engine,
  { kind, name, overwrite, ttlSeconds }: SaveOptions,
): Promise<Checkpoint> {
  const { id: runId, rank, alpha, targetModules } = facts;
  const savedAt = new Date(runtime.clock.now()).toISOString();
  const info = { runId, kind, name, baseModel: model.name, rank, alpha, targetModules, savedAt };
  const write = async (directory: string): Promise<void> => {
    await trainer.save(directory, { optimizer: false });
    if (rank > 0) await completeAdapter(directory);
    if (kind === 'weights')
      await trainer.save(path.join(directory, resumeFolder), { optimizer: true });
  };
  return checkpoints.save(info, write, { overwrite, ttlSeconds });
}

/**
 * Loads saved weights.
 * @param optimizer false to reset the optimizer moments to 0
 */
export const loadCheckpoint = (
  { trainer }: Engine,
  { kind, directory }: Checkpoint,
  { optimizer }: { readonly optimizer: boolean },
): Promise<void> =>
  trainer.load(optimizer && kind === 'weights' ? path.join(directory, resumeFolder) : directory);
