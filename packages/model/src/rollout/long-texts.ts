/**
 * Handles long prompts. A prompt that certainly exceeds the limits is rejected before it is
 * tokenized. Other long prompts are tokenized in another thread, because tokenizing megabytes of
 * text would block all other calls.
 */
import type { ChatFormat } from '@trinity-rft/chat';
import { tokenByteTable } from '@trinity-rft/chat';
import { ModelError, InvariantError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { howToFit, type RolloutLimits } from './sampling.js';

export type EncodeText = (text: string) => Promise<Int32Array>;

export interface LongTextOptions {
  readonly format: ChatFormat;
  readonly sampler: Pick<Sampler, 'maxModelLen'>;
  readonly limits?: RolloutLimits;
  readonly encodeLongText?: EncodeText;
}

export interface LongTexts {
  /**
   * Chat format that throws an error if it needs the token ids of a long text that are not
   * available yet. {@link attempt} catches the error.
   */
  readonly format: ChatFormat;
  /**
   * Returns the result of `work`. If `work` needs the token ids of a long text, waits until they
   * are available and then calls `work` again. Returns a promise only in this case. `work` must
   * have no side effects.
   */
  attempt<T>(work: () => T): T | Promise<T>;
}

/**
 * Maximum number of characters in a text that is tokenized in this thread. Tokenizing a text of
 * this length takes a few milliseconds.
 */
const longLength = 16_384;

/** Thrown by synchronous code that needs the token ids of a text before they are available. */
class IdsMissing extends InvariantError {
  readonly text: string;

  constructor(text: string) {
    super('The ids of a long text are not there yet. Wait for them and repeat the work.');
    this.text = text;
  }
}

export function createLongTexts(options: LongTextOptions): LongTexts {
  const { format, encodeLongText } = options;
  const known = new Map<string, Int32Array>();
  /**
   * Rendered prompts that are long, kept for the second attempt. They are keyed by the array of
   * messages, which is a new object in each call.
   */
  const rendered = new WeakMap<object, string>();
  const render: ChatFormat['render'] = (input) => {
    const text = rendered.get(input.messages) ?? format.render(input);
    if (text.length > longLength) rendered.set(input.messages, text);
    return text;
  };
  const encode = (text: string): Int32Array => {
    if (text.length <= longLength) return format.encode(text);
    assertCouldFit(text, options);
    const ids = known.get(text);
    if (ids) return ids;
    if (encodeLongText) throw new IdsMissing(text);
    return format.encode(text);
  };
  const attempt = <T>(work: () => T): T | Promise<T> => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof IdsMissing) || !encodeLongText) throw error;
      return encodeLongText(error.text).then(async (ids) => {
        known.set(error.text, ids);
        try {
          return await attempt(work);
        } finally {
          known.delete(error.text);
        }
      });
    }
  };
  return { format: { ...format, encode, render }, attempt };
}

/**
 * Rejects a text that cannot fit.
 * @throws ModelError 400 if the text has more bytes than the maximum number of tokens can represent
 */
function assertCouldFit(text: string, { format, sampler, limits = {} }: LongTextOptions): void {
  const { maxPromptTokens = Infinity, maxModelLen = Infinity } = limits;
  const most = Math.min(maxPromptTokens, maxModelLen, sampler.maxModelLen);
  const least = Math.ceil(Buffer.byteLength(text) / longestToken(format));
  if (least <= most) return;
  throw new ModelError(
    `The prompt has ${text.length} characters, which are at least ${least} tokens; at most ${most}${most === maxPromptTokens ? ' (max_prompt_tokens)' : ''} are allowed. Shorten it, ${howToFit}.`,
    {
      status: 400,
      code: 'context_length_exceeded',
      details: { param: 'messages', promptLength: least },
    },
  );
}

const longest = new WeakMap<object, number>();

/**
 * Returns the length of the longest token in bytes. Returns Infinity if the unknown token may stand
 * for a text of any length.
 */
function longestToken({ tokenizer }: ChatFormat): number {
  let length = longest.get(tokenizer);
  if (length === undefined) {
    const bytes = tokenByteTable(tokenizer).reduce(
      (most, token) => Math.max(most, token.length),
      1,
    );
    length = hasTokenForAnyText(tokenizer.files.tokenizer) ? bytes : Infinity;
    longest.set(tokenizer, length);
  }
  return length;
}

/**
 * Returns true if every text can be represented by tokens of the vocabulary. Returns false if text
 * outside of the vocabulary becomes one unknown token, regardless of its length.
 */
function hasTokenForAnyText({ model, decoder }: Readonly<Record<string, unknown>>): boolean {
  const { unk_token: unknown, byte_fallback: bytes } = (model ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const isByteLevel = JSON.stringify(decoder ?? {}).includes('"ByteLevel"');
  return isByteLevel || bytes === true || unknown === undefined || unknown === null;
}
