/** Models of a run that can answer. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { checkpointName, checkpointSteps } from '@trinity-rft/core/engine';
import type { Checkpoint } from '../interface/index.js';

export interface FoundCheckpoint extends Checkpoint {
  readonly folder: string;
  /** Size of the weight files, in bytes. */
  readonly bytes: number;
}

/** Models of a run, the newest first. @param job folder of the run, of which `folder` may be a stage */
export async function findCheckpoints(
  folder: string,
  job: string,
): Promise<readonly FoundCheckpoint[]> {
  const places = (await checkpointSteps(folder)).toReversed().map((step) => {
    const name = checkpointName(step);
    return { name, step, folder: path.join(folder, name) };
  });
  const start = await startModel(folder, job);
  if (start !== undefined) places.push({ name: 'start', step: 0, folder: start });
  const found = await Promise.all(
    places.map(async (place) => ({ ...place, bytes: await weightBytes(place.folder) })),
  );
  return found.filter(({ bytes }) => bytes > 0);
}

/** Size of the weights; 0 without a model and tokenizer, such as for a checkpoint of adapters. */
async function weightBytes(folder: string): Promise<number> {
  const names = await readdir(folder).catch((): string[] => []);
  if (!names.includes('config.json') || !names.includes('tokenizer.json')) return 0;
  const files = names.filter((name) => /^model.*\.safetensors$/.test(name));
  const sizes = await Promise.all(files.map((name) => stat(path.join(folder, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

/** Start model recorded by the run. */
async function startModel(folder: string, job: string): Promise<string | undefined> {
  const text = await readFile(path.join(job, 'settings.json'), 'utf8').catch(() => '{}');
  try {
    const { stages = [] } = JSON.parse(text) as { stages?: Readonly<Record<string, unknown>>[] };
    const stage =
      stages.length === 1
        ? stages[0]
        : stages.find((each) => each['stage_name'] === path.basename(folder));
    const place = stage?.['model.model_path'];
    return typeof place === 'string' && path.isAbsolute(place) ? place : undefined;
  } catch {
    return undefined;
  }
}
