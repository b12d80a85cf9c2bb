/** Stores the optimizer's moments and step counter in a checkpoint folder. */
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';

import type { ParameterSpec } from '../model/parameters.js';
import type { OptimizerState } from '../train/adamw.js';
import { blankOptimizer, momentTensors } from '../train/optimizer-file.js';
import { isFile } from './files.js';
import { openSafetensors, writeSafetensors, type SafetensorsFile } from './safetensors.js';

/**
 * Path of the file with the moments. It is in a separate folder, because vLLM reads every
 * safetensors file next to the weights as weights.
 */
const optimizerFile = join('optimizer', 'moments.safetensors');
/** Path of the file with the moments in checkpoints of earlier versions. */
const earlierFile = 'optimizer.safetensors';
const remedy = 'Delete the file to start with new moments.';
const optimizerFormat = 'trinity-rft-adamw-1';

/**
 * Writes the moments of the parameters in `specs`. If there is no state, removes the file of an
 * earlier save, because its moments do not belong to the new weights.
 */
export async function saveOptimizer(
  directory: string,
  specs: readonly ParameterSpec[],
  optimizer: OptimizerState | undefined,
): Promise<void> {
  const path = join(directory, optimizerFile);
  for (const old of [dirname(path), join(directory, earlierFile)])
    await rm(old, { recursive: true, force: true });
  if (optimizer === undefined) return;
  const metadata = { format: optimizerFormat, step: String(optimizer.step) };
  await mkdir(dirname(path), { recursive: true });
  await writeSafetensors(path, momentTensors(specs, optimizer), { metadata });
}

/**
 * Reads the optimizer state. Returns undefined if the folder has no optimizer file.
 * @throws CheckpointError when the file belongs to other parameters
 */
export async function loadOptimizer(
  directory: string,
  specs: readonly ParameterSpec[],
): Promise<OptimizerState | undefined> {
  const path = await findOptimizer(directory);
  if (path === undefined) return undefined;
  const file = await openSafetensors(path, remedy);
  try {
    return await readOptimizer(path, file, specs);
  } finally {
    await file.close();
  }
}

async function findOptimizer(directory: string): Promise<string | undefined> {
  for (const name of [optimizerFile, earlierFile])
    if (await isFile(join(directory, name))) return join(directory, name);
  return undefined;
}

async function readOptimizer(
  path: string,
  file: SafetensorsFile,
  specs: readonly ParameterSpec[],
): Promise<OptimizerState> {
  const step = Number(file.metadata['step']);
  if (file.metadata['format'] !== optimizerFormat || !Number.isInteger(step))
    throw notOptimizer(path, `its metadata does not name ${optimizerFormat} and a step`);
  const state = blankOptimizer(specs, step);
  for (const { name, shape, data } of momentTensors(specs, state)) {
    const found = file.tensors.get(name);
    if (found === undefined)
      throw notOptimizer(path, `tensor ${name} of shape [${shape.join(', ')}] is missing`);
    if (found.shape.join() !== shape.join())
      throw notOptimizer(
        path,
        `tensor ${name} has shape [${found.shape.join(', ')}] instead of [${shape.join(', ')}]`,
      );
    await file.read(name, data);
  }
  return state;
}

function notOptimizer(path: string, why: string): CheckpointError {
  return new CheckpointError(
    `${path} does not hold the optimizer of this model: ${why}. ${remedy}`,
    { code: 'OPTIMIZER_MISMATCH' },
  );
}
