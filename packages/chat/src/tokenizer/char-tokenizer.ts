/** Small tokenizers for examples and tests: one token per character, and one per chosen word. */
import { ConfigError } from '@trinity-rft/core';
import type { JsonObject } from '../json/object.js';
import { createChatTemplate, type ChatTemplate } from '../template/template.js';
import type { TokenizerFiles } from './files.js';

export interface CharTokenizerOptions {
  /** Characters that each become a token: a string, or a list of single characters. */
  readonly characters: string | readonly string[];
  /**
   * Strings of several characters that are one token each. If several match, the longest one takes
   * precedence.
   * @default []
   */
  readonly words?: readonly string[];
  /**
   * Tokens that mark structure and have no visible text, in addition to `eosToken`, `bosToken`,
   * `padToken` and `unkToken`.
   * @default []
   */
  readonly specialTokens?: readonly string[];
  /** Single tokens with visible text, such as `<tool_call>` and `</tool_call>`. @default [] */
  readonly markers?: readonly string[];
  /** Token that ends a turn. */
  readonly eosToken: string;
  readonly bosToken?: string;
  /** Token for padding. @default eosToken */
  readonly padToken?: string;
  /** Token for characters without a token of their own. @default "<unk>" */
  readonly unkToken?: string;
  /** Jinja template, such as one of {@link chatTemplates}. */
  readonly chatTemplate?: string;
}

/**
 * Builds tokenizer files with a word-level vocabulary and a pre-tokenizer that splits text into
 * words and characters; Python's `transformers` can also read them. Ids: 0 is the unknown token,
 * followed by special tokens, markers, words, characters.
 * @throws ConfigError for duplicate or invalid tokens, or when the chat template prints a character
 * without a token
 */
export function buildCharTokenizer(options: CharTokenizerOptions): TokenizerFiles {
  const {
    eosToken,
    bosToken,
    padToken = eosToken,
    unkToken = '<unk>',
    words = [],
    markers = [],
  } = options;
  const special = [
    ...new Set([
      unkToken,
      ...(bosToken === undefined ? [] : [bosToken]),
      eosToken,
      padToken,
      ...(options.specialTokens ?? []),
    ]),
  ];
  const characters =
    typeof options.characters === 'string' ? Array.from(options.characters) : options.characters;
  const tokens = [...special, ...markers, ...words, ...characters];
  checkTokens(tokens, characters);
  const roles = {
    unk_token: unkToken,
    eos_token: eosToken,
    pad_token: padToken,
    ...(bosToken !== undefined && { bos_token: bosToken }),
  };
  if (options.chatTemplate !== undefined)
    checkTemplate(options.chatTemplate, roles, new Set(tokens), [...special, ...markers, ...words]);
  return {
    tokenizer: tokenizerJson({ tokens, special, markers, words, unkToken }),
    tokenizerConfig: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      clean_up_tokenization_spaces: false,
      ...roles,
    },
    generationConfig: {
      eos_token_id: tokens.indexOf(eosToken),
      pad_token_id: tokens.indexOf(padToken),
    },
    chatTemplate: options.chatTemplate,
  };
}

interface TokenLists {
  /** All tokens by id; special tokens and markers come first. */
  readonly tokens: readonly string[];
  readonly special: readonly string[];
  readonly markers: readonly string[];
  readonly words: readonly string[];
  readonly unkToken: string;
}

const tokenizerJson = ({ tokens, special, markers, words, unkToken }: TokenLists): JsonObject => ({
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: [...special, ...markers].map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: id < special.length,
  })),
  normalizer: null,
  pre_tokenizer: {
    type: 'Split',
    pattern: { Regex: splitPattern(words) },
    behavior: 'Isolated',
    invert: false,
  },
  post_processor: null,
  decoder: { type: 'Fuse' },
  model: {
    type: 'WordLevel',
    vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    unk_token: unkToken,
  },
});

/**
 * Returns the pattern that splits text into words and characters. JavaScript and Python's
 * `transformers` try alternatives in order, so longer words come first. `[\s\S]` also matches line
 * breaks.
 */
function splitPattern(words: readonly string[]): string {
  const longestFirst = words.toSorted((a, b) => b.length - a.length);
  return [
    ...longestFirst.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)),
    String.raw`[\s\S]`,
  ].join('|');
}

function checkTokens(tokens: readonly string[], characters: readonly string[]): void {
  const duplicate = tokens.find((token, i) => tokens.indexOf(token) !== i);
  if (duplicate !== undefined)
    throw new ConfigError(
      `The token ${JSON.stringify(duplicate)} is listed twice. List every token once.`,
      { code: 'TOKENIZER_DUPLICATE' },
    );
  const bad =
    characters.find((character) => Array.from(character).length !== 1) ??
    tokens.find((token) => token === '');
  if (bad !== undefined)
    throw new ConfigError(
      `${JSON.stringify(bad)} is not one character. Put longer strings into "words".`,
      { code: 'TOKENIZER_CHARACTER' },
    );
}

/**
 * Checks that every character that the template itself prints has a token: otherwise every prompt
 * would contain unknown tokens.
 */
function checkTemplate(
  source: string,
  roles: Record<string, string>,
  tokens: ReadonlySet<string>,
  strings: readonly string[],
): void {
  const longestFirst = strings.toSorted((a, b) => b.length - a.length);
  let text = ownText(createChatTemplate(source, roles));
  for (const string of longestFirst) text = text.replaceAll(string, '');
  const missing = [...new Set(text)].filter((character) => !tokens.has(character));
  if (missing.length > 0) {
    throw new ConfigError(
      `The chat template prints ${missing.map((character) => JSON.stringify(character)).join(' ')}, which have no token. Add them to "characters" or "words".`,
      { code: 'TOKENIZER_TEMPLATE' },
    );
  }
}

/**
 * Returns the text that the template prints in addition to the contents of messages, for messages
 * of all roles. If the template rejects this order of roles, only for a user message.
 */
function ownText(template: ChatTemplate): string {
  const orders = [['system', 'user', 'assistant', 'tool'], ['user']] as const;
  for (const order of orders) {
    try {
      const messages = order.map((role) => ({ role, content: '' }));
      return template.render({ messages, addGenerationPrompt: true });
    } catch {
      // A template that only prints tools has no text of its own without tools.
    }
  }
  return '';
}
