/** Reads the tokens of a GGUF file and their kinds. */
import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import { keysOf } from '../model/keys.js';

/** Kinds of tokens with their numbers in GGUF. */
export const tokenKinds = {
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  unused: 5,
  byte: 6,
} as const;
export type TokenKind = keyof typeof tokenKinds;

export interface Tokens {
  readonly texts: readonly string[];
  /** Entries for `added_tokens`: tokens that are found in a text before it is split into words. */
  readonly added: readonly AddedToken[];
}

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly single_word: false;
  readonly lstrip: false;
  readonly rstrip: false;
  readonly normalized: false;
  /** True if the token marks structure and has no visible text. */
  readonly special: boolean;
}

export function tokensOf(file: GgufFile): Tokens {
  const keys = keysOf(file);
  const texts = keys.texts('tokenizer.ggml.tokens');
  if (!texts)
    throw unsupported(
      file.path,
      'tokenizer.ggml.tokens',
      'it holds no tokenizer (tokenizer.ggml.tokens). Give the file of a whole model.',
    );
  const types = keys.numbers('tokenizer.ggml.token_type') ?? [];
  const added = texts.flatMap((content, id) =>
    types[id] === tokenKinds.control ||
    types[id] === tokenKinds.userDefined ||
    types[id] === tokenKinds.unknown
      ? [addedToken(id, content, types[id] !== tokenKinds.userDefined)]
      : [],
  );
  return { texts, added };
}

const addedToken = (id: number, content: string, special: boolean): AddedToken => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special,
});
