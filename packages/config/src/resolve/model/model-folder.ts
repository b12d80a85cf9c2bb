/** The size of a model, from `config.json` of its folder. */
import { join } from 'node:path';
import { z } from 'zod';
import type { Disk } from '../base/disk.js';

/** The shape of a decoder in the names of Hugging Face, completed. */
export interface ModelShape {
  readonly modelType: string;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly tiedEmbeddings: boolean;
  /** Longest sequence that the position embeddings support. */
  readonly maxPositions: number | undefined;
}

const size = z.int().min(1);
const schema = z.object({
  model_type: z.string().default('unknown'),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  tie_word_embeddings: z.boolean().default(false),
  max_position_embeddings: size.nullish(),
});

export type ModelFolder =
  | { readonly kind: 'shape'; readonly shape: ModelShape }
  /** What is wrong, as the rest of a sentence that begins with the folder. */
  | { readonly kind: 'problem'; readonly message: string };

export function readModelFolder(disk: Disk, folder: string): ModelFolder {
  const text = disk.readText(join(folder, 'config.json'));
  if (text === undefined)
    return {
      kind: 'problem',
      message: 'has no readable config.json. Give the folder of a saved model',
    };
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    if (parsed.success) return { kind: 'shape', shape: shapeOf(parsed.data) };
    const keys = parsed.error.issues.map((issue) => issue.path.join('.'));
    return { kind: 'problem', message: `has a config.json without a valid ${keys.join(', ')}` };
  } catch (error) {
    return {
      kind: 'problem',
      message: `has a config.json that is not JSON: ${(error as Error).message}`,
    };
  }
}

function shapeOf(config: z.output<typeof schema>): ModelShape {
  return {
    modelType: config.model_type,
    vocabSize: config.vocab_size,
    hiddenSize: config.hidden_size,
    intermediateSize: config.intermediate_size,
    layers: config.num_hidden_layers,
    heads: config.num_attention_heads,
    keyValueHeads: config.num_key_value_heads ?? config.num_attention_heads,
    headDim: config.head_dim ?? Math.floor(config.hidden_size / config.num_attention_heads),
    tiedEmbeddings: config.tie_word_embeddings,
    maxPositions: config.max_position_embeddings ?? undefined,
  };
}
