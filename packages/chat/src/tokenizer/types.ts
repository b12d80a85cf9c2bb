import type { TokenizerFiles } from './files.js';

export interface DecodeOptions {
  /** Ids to ignore when decoding, for example {@link Tokenizer.specialTokenIds}. */
  readonly skip?: ReadonlySet<number>;
}

/** A tokenizer. Immutable; share one per model. */
export interface Tokenizer {
  /** Contents of the tokenizer's files, for writing them to a checkpoint. */
  readonly files: TokenizerFiles;
  /** Largest id + 1. The embedding matrix of the model may have more rows. */
  readonly vocabularySize: number;
  /** Ids of tokens that mark structure (`special` in tokenizer.json) and have no visible text. */
  readonly specialTokenIds: ReadonlySet<number>;
  /**
   * Ids of special tokens, and of other added tokens that look like tags, such as `<tool_call>`.
   */
  readonly controlTokenIds: ReadonlySet<number>;
  /**
   * Ids that end a generation: `eos_token_id` of generation_config.json and the tokenizer's
   * `eos_token`.
   */
  readonly eosTokenIds: readonly number[];
  /**
   * Ids to put before plain text (text that no chat template has rendered), such as the id of
   * `bos_token`.
   */
  readonly prefixIds: readonly number[];
  /** Texts of `bos_token`, `eos_token`, `pad_token` and `unk_token`, for chat templates. */
  readonly specialTokens: Readonly<Record<string, string>>;
  /** Chat templates by name; the name of the main template is `default`. */
  readonly chatTemplates: Readonly<Record<string, string>>;
  tokenToId(token: string): number | undefined;
  idToToken(id: number): string | undefined;
  /**
   * Returns the ids of `text`. Special tokens that occur in the text become their ids. Unlike in
   * Python, no special tokens are added at the start or the end.
   */
  encode(text: string): Int32Array;
  /**
   * Returns the text of the ids. Invalid UTF-8 sequences become U+FFFD. Unlike in Python, spaces
   * are not cleaned up and a leading space is kept, because the ids may continue another text.
   */
  decode(ids: ArrayLike<number>, options?: DecodeOptions): string;
}
