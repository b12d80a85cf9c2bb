/** Creates a model folder with random weights and a tokenizer. */
import {
  buildCharTokenizer,
  chatTemplates,
  createTokenizer,
  writeTokenizerFiles,
  type CharTokenizerOptions,
  type TokenizerFiles,
} from '@trinity-rft/chat';
import { createModelFolder, type NewModelConfig } from '@trinity-rft/engine-onnx';

export interface CreateModelOptions {
  /** Folder to create. */
  readonly directory: string;
  /**
   * Files of a tokenizer, or the characters and words of a new tokenizer. By default, a new
   * tokenizer ends messages with `<|im_end|>` and has the minimal chat template. The tokenizer
   * determines the vocabulary size and the end tokens.
   */
  readonly tokenizer: TokenizerFiles | NewTokenizer;
  /**
   * Sizes of the model. @default width 64, 2 layers, 4 heads, context length 64: 0.1 million
   * weights
   */
  readonly config?: Omit<NewModelConfig, 'vocabSize' | 'eosTokenIds'>;
  /** Seed for the random weights. The same seed always creates the same files. */
  readonly seed: number;
  /**
   * Standard deviation of the initial weight matrices. Narrow models learn faster with a larger
   * value. @default 0.02
   */
  readonly initializerRange?: number;
}

/** {@link CharTokenizerOptions} with a default for the end token. */
export type NewTokenizer = Omit<CharTokenizerOptions, 'eosToken'> &
  Partial<Pick<CharTokenizerOptions, 'eosToken'>>;

const smallModel = {
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  maxPositions: 64,
} as const satisfies CreateModelOptions['config'];

/**
 * Writes a Hugging Face model folder, which `model.model_path` can name.
 * @throws CheckpointError when the sizes do not fit together
 */
export async function createModel({
  directory,
  tokenizer,
  config = smallModel,
  seed,
  initializerRange,
}: CreateModelOptions): Promise<void> {
  const files =
    'characters' in tokenizer
      ? buildCharTokenizer({
          eosToken: '<|im_end|>',
          chatTemplate: chatTemplates.minimal,
          ...tokenizer,
        })
      : tokenizer;
  const { vocabularySize: vocabSize, eosTokenIds } = createTokenizer(files);
  const sizes = { ...config, vocabSize, eosTokenIds };
  await createModelFolder({ directory, seed, config: sizes, initializerRange });
  await writeTokenizerFiles(directory, files);
}
