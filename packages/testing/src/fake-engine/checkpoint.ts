/**
 * Saves and loads checkpoints of the fake engines, which contain `config.json`, `weights.bin` and
 * optionally `optimizer.bin`.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import type { AdamState } from './adamw.js';

export interface SavedModel {
  readonly modelType: 'fake_bigram' | 'fake_values';
  readonly vocabSize: number;
  readonly weights: Float64Array;
}

export async function saveFolder(
  directory: string,
  model: SavedModel,
  optimizer: AdamState | undefined,
): Promise<void> {
  const files: Record<string, string | Uint8Array> = {
    'config.json': `${JSON.stringify({ model_type: model.modelType, vocab_size: model.vocabSize })}\n`,
    'weights.bin': bytesOf(model.weights),
  };
  if (optimizer) files['optimizer.bin'] = bytesOf(flatten(optimizer));
  try {
    await mkdir(directory, { recursive: true });
    for (const [name, content] of Object.entries(files))
      await writeFile(join(directory, name), content);
  } catch (cause) {
    throw new CheckpointError(`Checkpoint ${directory} could not be written.`, {
      code: 'CHECKPOINT_UNWRITABLE',
      cause,
    });
  }
}

function flatten({ step, first, second }: AdamState): Float64Array {
  const values = new Float64Array(1 + first.length + second.length);
  values[0] = step;
  values.set(first, 1);
  values.set(second, 1 + first.length);
  return values;
}

/**
 * Loads a checkpoint that was saved by a fake engine.
 * @throws CheckpointError if the folder is not such a checkpoint, or does not have `size` weights
 */
export async function loadFolder(
  directory: string,
  size: number,
): Promise<{ readonly weights: Float64Array; readonly optimizer?: AdamState }> {
  const weights = await readDoubles(directory, 'weights.bin', size);
  if (!weights)
    throw new CheckpointError(
      `Checkpoint ${directory} has no weights.bin. Pass a folder that save() wrote.`,
      { code: 'CHECKPOINT_MISSING' },
    );
  const state = await readDoubles(directory, 'optimizer.bin', 1 + 2 * size);
  if (!state) return { weights };
  return {
    weights,
    optimizer: { step: state[0]!, first: state.slice(1, 1 + size), second: state.slice(1 + size) },
  };
}

async function readDoubles(
  directory: string,
  name: string,
  length: number,
): Promise<Float64Array | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(join(directory, name));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CheckpointError(`Checkpoint file ${join(directory, name)} could not be read.`, {
      code: 'CHECKPOINT_UNREADABLE',
      cause,
    });
  }
  if (bytes.byteLength !== length * 8) {
    throw new CheckpointError(
      `Checkpoint file ${join(directory, name)} has ${bytes.byteLength} bytes; ` +
        `expected ${length * 8}. It is damaged or belongs to another model.`,
      { code: 'CHECKPOINT_DAMAGED' },
    );
  }
  return new Float64Array(new Uint8Array(bytes).buffer);
}

const bytesOf = (values: Float64Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
