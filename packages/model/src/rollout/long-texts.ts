/**
 * Handles long prompts. A prompt that is certainly too long is rejected before it is tokenized.
 * Other long prompts are tokenized in another thread, because a text of megabytes would block all
 * other calls.
 */
import type { ChatFormat } from '@trinity-rft/chat';
import { tokenByteTable } from '@trinity-rft/chat';
import { ModelError, InvariantError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { RolloutLimits } from './sampling.js';

export type EncodeText = (text: string) => Promise<Int32Array>;

export interface LongTextOptions {
  readonly format: ChatFormat;
  readonly sampler: Pick<Sampler, 'maxModelLen'>;
  readonly limits?: RolloutLimits;
  readonly encodeLongText?: EncodeText;
}

export interface LongTexts {
  /**
   * Chat format that throws if the ids of a long text are needed but not available yet.
   * {@link attempt} catches this error.
   */
  readonly format: ChatFormat;
  /**
   * Returns the result of `work`. Repeats `work` when the ids of long texts are available. Returns
   * a promise only if there are long texts. `work` must have no side effects.
   */
  attempt<T>(work: () => T): T | Promise<T>;
}

/**
 * Maximum number of characters in a text that is tokenized in this thread. Tokenizing a text of
 * this length takes a few milliseconds.
 */
const longLength = 16_384;

/** Thrown by synchronous code that needs the ids of a text before they are available. */
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
   * Rendered long texts, for the second attempt. They are keyed by the messages, which are a new
   * array in each call.
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
 * Checks that a text may fit.
 * @throws ModelError 400 if the text has more bytes than the allowed number of tokens can have
 */
function assertCouldFit(text: string, { format, sampler, limits = {} }: LongTextOptions): void {
  const { maxPromptTokens = Infinity, maxModelLen = Infinity } = limits;
  const most = Math.min(maxPromptTokens, maxModelLen, sampler.maxModelLen);
  const least = Math.ceil(Buffer.byteLength(text) / longestToken(format));
  if (least <= most) return;
  throw new ModelError(
    `The prompt has ${text.length} characters, which are at least ${least} tokens; at most ${most} are allowed. Shorten it, or send fewer messages.`,
    {
      status: 400,
      code: 'context_length_exceeded',
      details: { param: 'messages', promptLength: least },
    },
  );
}

const longest = new WeakMap<object, number>();

/**
 * Returns the length of the longest token in bytes, or Infinity if one unknown token may stand for
 * a text of any length.
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
 * Returns false if text that the vocabulary does not cover becomes one unknown token, regardless of
 * its length.
 */
function hasTokenForAnyText({ model, decoder }: Readonly<Record<string, unknown>>): boolean {
  const { unk_token: unknown, byte_fallback: bytes } = (model ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const isByteLevel = JSON.stringify(decoder ?? {}).includes('"ByteLevel"');
  return isByteLevel || bytes === true || unknown === undefined || unknown === null;
}
