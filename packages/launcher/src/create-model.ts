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
   * Files of a tokenizer, or the characters and words of a new one, which ends turns with
   * `<|im_end|>` and has the minimal chat template by default. Vocabulary size and end tokens
   * follow from it.
   */
  readonly tokenizer: TokenizerFiles | NewTokenizer;
  /** Sizes of the model. @default 64 wide, 2 layers, 4 heads, 64 positions: 0.1 million weights */
  readonly config?: Omit<NewModelConfig, 'vocabSize' | 'eosTokenIds'>;
  /** Seed of the weights; equal seeds give equal bytes. */
  readonly seed: number;
  /**
   * Standard deviation of the initial matrices; narrow models learn faster from a larger one.
   * @default 0.02
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
 * Writes a Hugging Face folder for `model.model_path`.
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
