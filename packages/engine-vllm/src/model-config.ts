import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { readStored } from '@trinity-rft/core/engine';
import { parseStoredJson } from '@trinity-rft/core/support';
import { z } from 'zod';

const withSize = z.object({ vocab_size: z.number().int().positive() });
/**
 * Schema of `config.json`. Some multimodal models nest the language model's settings in
 * `text_config`.
 */
const config = z.union([withSize, z.object({ text_config: withSize })]);

/**
 * Reads the vocabulary size from a model folder.
 * @throws CheckpointError if config.json is missing, invalid or contains no vocabulary size
 */
export async function readVocabSize(modelPath: string): Promise<number> {
  const file = path.join(modelPath, 'config.json');
  const text = String((await readStored(file)) ?? '{}');
  const { data } = config.safeParse(parseStoredJson(file, text, 'MODEL_CONFIG'));
  if (data) return 'text_config' in data ? data.text_config.vocab_size : data.vocab_size;
  throw new CheckpointError(
    `${file} does not say the vocab_size of the model. vLLM needs the folder of a Hugging Face model.`,
    { code: 'MODEL_CONFIG' },
  );
}
