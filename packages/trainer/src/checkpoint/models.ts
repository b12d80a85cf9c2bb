/** Saves the models and the state of a trainer to a checkpoint, and loads them. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import type { TrainEngine, ValueEngine } from '@trinity-rft/core/engine';
import { verifyCheckpoint, type Checkpoint } from './checkpoint.js';
import type { TrainerState } from '../step/targets.js';

/** Models that a train step changes. */
export interface TrainedModels {
  readonly engine: TrainEngine;
  readonly critic?: ValueEngine;
}

/** Name of the critic's folder inside a checkpoint. */
const criticFolder = 'critic';
const stateFile = 'trainer_state.json';

/** Returns the path of the critic in a checkpoint, or undefined if the checkpoint has no critic. */
export async function criticIn(checkpoint: string): Promise<string | undefined> {
  const folder = path.join(checkpoint, criticFolder);
  return (await stat(folder).catch(() => undefined))?.isDirectory() ? folder : undefined;
}

/**
 * Fills a checkpoint folder with the weights and optimizer moments of every model, and the
 * trainer's state.
 * @param options see `SaveOptions.merged` of core
 */
export async function saveTrainer(
  directory: string,
  { engine, critic }: TrainedModels,
  state: TrainerState,
  { merged }: { readonly merged: boolean },
): Promise<void> {
  await engine.save(directory, { optimizer: true, merged });
  await critic?.save(path.join(directory, criticFolder), { optimizer: true });
  if (Object.keys(state).length > 0)
    await writeFile(path.join(directory, stateFile), `${JSON.stringify(state)}\n`);
}

/**
 * Loads the models from a checkpoint.
 * @throws CheckpointError if a file differs from its digest, or if there is a critic to load but
 * the checkpoint has none
 * @returns the trainer's state for the next step
 */
export async function loadTrainer(
  checkpoint: Checkpoint,
  { engine, critic }: TrainedModels,
): Promise<TrainerState> {
  await verifyCheckpoint(checkpoint);
  const { directory } = checkpoint;
  if (critic) {
    const folder = await criticIn(directory);
    if (folder === undefined)
      throw new CheckpointError(
        `Checkpoint ${directory} has no critic, and the algorithm needs one. Continue with the algorithm that wrote it, or give the new run another name.`,
        { code: 'CHECKPOINT_WITHOUT_CRITIC' },
      );
    await critic.load(folder);
  }
  await engine.load(directory);
  return readState(checkpoint);
}

/**
 * Reads the trainer's state if the manifest lists the state file. A file that the manifest does not
 * list has not been verified.
 */
async function readState({ directory, manifest }: Checkpoint): Promise<TrainerState> {
  if (!manifest.files.some((file) => file.path === stateFile)) return {};
  return JSON.parse(await readFile(path.join(directory, stateFile), 'utf8')) as TrainerState;
}
