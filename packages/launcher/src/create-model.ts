/** A new model made on the spot: random weights and a tokenizer in one folder. */
import { createTokenizer, writeTokenizerFiles, type TokenizerFiles } from '@trinity-rft/chat';
import { createModelFolder, type NewModelConfig } from '@trinity-rft/engine-onnx';

export interface CreateModelOptions {
  /** Is created. */
  readonly directory: string;
  /**
   * For example of `buildCharTokenizer`. The size of the vocabulary and the end tokens follow from
   * it.
   */
  readonly tokenizer: TokenizerFiles;
  readonly config: Omit<NewModelConfig, 'vocabSize' | 'eosTokenIds'>;
  /** Of the weights; equal seeds give equal bytes. */
  readonly seed: number;
  /**
   * Standard deviation of the initial matrices. Narrow models learn faster from a larger one.
   * @default 0.02
   */
  readonly initializerRange?: number;
}

/**
 * Writes a Hugging Face folder that `model.model_path` can name.
 * @throws CheckpointError when the sizes do not fit together
 */
export async function createModel({
  directory,
  tokenizer,
  config,
  seed,
  initializerRange,
}: CreateModelOptions): Promise<void> {
  const { vocabularySize: vocabSize, eosTokenIds } = createTokenizer(tokenizer);
  await createModelFolder({
    directory,
    seed,
    config: { ...config, vocabSize, eosTokenIds },
    ...(initializerRange !== undefined && { initializerRange }),
  });
  await writeTokenizerFiles(directory, tokenizer);
}
