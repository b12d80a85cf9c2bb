/**
 * The token list of a GGUF file, which has the text and the kind of a token for every embedding
 * row.
 */
import { noCounterpart, type AddedEntry } from './source.js';
import { tokenKinds, type TokenKind } from './tokens.js';

export interface ListedToken {
  readonly text: string;
  readonly kind: TokenKind;
}

export interface TokenListOptions {
  /** Tokens of the model's vocabulary by id, with their text in the GGUF file. */
  readonly vocabulary: ReadonlyMap<number, ListedToken>;
  readonly added: readonly AddedEntry[];
  /** Number of embedding rows, which is the length of the list. */
  readonly rows: number;
  /** Text of the unknown token. */
  readonly unknown?: string;
}

export interface TokenList {
  readonly tokens: readonly ListedToken[];
  readonly notes: readonly string[];
}

/**
 * Lists the tokens in the order of their ids.
 * @throws CheckpointError when two ids have the same text, which would crash llama.cpp
 */
export function listTokens({ vocabulary, added, rows, unknown }: TokenListOptions): TokenList {
  const entries = new Map(vocabulary);
  for (const { id, content, special } of added)
    entries.set(id, { text: content, kind: kindOf(content, special, unknown) });
  const tokens = Array.from(
    { length: rows },
    (_, id) => entries.get(id) ?? { text: `[PAD${id}]`, kind: 'unused' as const },
  );
  assertDistinct(tokens);
  const beyond = [...entries.keys()].filter((id) => id >= rows).length;
  const rules = added.filter(({ hasRules }) => hasRules).map(({ content }) => content);
  return {
    tokens,
    notes: [
      ...(beyond > 0
        ? [
            `${beyond === 1 ? '1 token has' : `${beyond} tokens have`} no row in the embeddings and cannot be in the file.`,
          ]
        : []),
      ...(rules.length > 0
        ? [
            `llama.cpp may not take the spaces around ${rules.slice(0, 3).join(' ')} as tokenizer.json says (lstrip, rstrip, single_word).`,
          ]
        : []),
    ],
  };
}

const kindOf = (content: string, special: boolean, unknown: string | undefined): TokenKind =>
  content === unknown ? 'unknown' : special ? 'control' : 'userDefined';

function assertDistinct(tokens: readonly ListedToken[]): void {
  const ids = new Map<string, number>();
  for (const [id, { text }] of tokens.entries()) {
    const other = ids.get(text);
    if (other !== undefined)
      throw noCounterpart(
        'vocab',
        { [text]: [other, id] },
        'one id for each token in the spelling of GGUF',
      );
    ids.set(text, id);
  }
}

export const kindNumbers = (tokens: readonly ListedToken[]): readonly number[] =>
  tokens.map(({ kind }) => tokenKinds[kind]);
