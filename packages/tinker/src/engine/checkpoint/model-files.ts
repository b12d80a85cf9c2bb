/**
 * Copies the files that describe a model into checkpoints, such as its configuration, tokenizer and
 * chat template, and reads the model's sizes. Weights and files of training checkpoints are not
 * copied.
 */
import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { readStored, verifyStored } from '@trinity-rft/core/engine';
import { z } from 'zod';

const isDescription = (name: string): boolean =>
  /\.(json|jinja|txt|model)$/.test(name) &&
  !/^(tinker|manifest|trainer_state|.*\.index)\.json$/.test(name);

export async function copyModelFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    const file = path.join(from, name);
    if (!isDescription(name) || !(await stat(file).catch(() => undefined))?.isFile()) continue;
    await verifyStored(file);
    await copyFile(file, path.join(to, name));
  }
}

const size = z.number().int().min(1);
const sizes = z.object({ vocab_size: size, max_position_embeddings: size.nullish() });
const schema = z.union([sizes, z.object({ text_config: sizes }).transform((c) => c.text_config)]);

export interface ModelSizes {
  readonly vocabSize: number;
  /** Maximum context length in tokens; infinite if config.json sets no limit. */
  readonly maxPositions: number;
}

/**
 * Reads the vocabulary size and the maximum context length of a model from its config.json.
 * @throws CheckpointError if the folder has no usable config.json
 */
export async function readModelSizes(directory: string): Promise<ModelSizes> {
  const file = path.join(directory, 'config.json');
  const text = String(await readStored(file));
  try {
    const config = schema.parse(JSON.parse(text));
    return {
      vocabSize: config.vocab_size,
      maxPositions: config.max_position_embeddings ?? Infinity,
    };
  } catch (cause) {
    throw new CheckpointError(
      `${file} is missing or has no vocab_size. Give the Hugging Face folder of the model that the server trains; its weights are not needed.`,
      { code: 'MODEL_CONFIG', cause },
    );
  }
}
