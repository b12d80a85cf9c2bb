/** Finds the models of a run that can be sampled. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { checkpointName, checkpointSteps } from '@trinity-rft/core/engine';
import { isEvaluations, stageSettings } from '@trinity-rft/inspect/studio';
import type { Checkpoint } from '../interface/index.js';

export interface FoundCheckpoint extends Checkpoint {
  readonly folder: string;
  /** Size of the weight files, in bytes. */
  readonly bytes: number;
  /** Text that differs after the weight files were replaced. */
  readonly version: string;
}

/**
 * Finds the models of a run that have weights and a tokenizer, newest first.
 * @param folder folder of the run or of one of its stages
 */
export async function findCheckpoints(folder: string): Promise<readonly FoundCheckpoint[]> {
  const places = (await checkpointSteps(folder)).toReversed().map((step) => {
    const name = checkpointName(step);
    return { name, step, folder: path.join(folder, name) };
  });
  const start = await startModel(folder);
  if (start !== undefined) places.push({ name: 'start', step: 0, folder: start });
  const found = await Promise.all(
    places.map(async (place) => ({ ...place, ...(await weightsIn(place.folder)) })),
  );
  return found.filter(({ bytes }) => bytes > 0);
}

/**
 * Returns the size and the version of the weights. The size is 0 for a folder that cannot be
 * sampled from, because it has no model or no tokenizer, such as a checkpoint of adapters.
 */
async function weightsIn(folder: string): Promise<Pick<FoundCheckpoint, 'bytes' | 'version'>> {
  const names = await readdir(folder).catch((): string[] => []);
  const isModel = names.includes('config.json') && names.includes('tokenizer.json');
  const files = names.filter((name) => isModel && /^model.*\.safetensors$/.test(name));
  const found = await Promise.all(files.map((name) => stat(path.join(folder, name))));
  return {
    bytes: found.reduce((sum, { size }) => sum + size, 0),
    version: found.map(({ ino, mtimeMs }) => `${ino} ${mtimeMs}`).join(),
  };
}

/**
 * Folder of the model that the run began with, if the run recorded an absolute path. Evaluations
 * have no model of their own, but the settings of their run.
 */
async function startModel(folder: string): Promise<string | undefined> {
  if (await isEvaluations(folder)) return undefined;
  const place = (await stageSettings(folder))?.stage['model.model_path'];
  return typeof place === 'string' && path.isAbsolute(place) ? place : undefined;
}
