/** Decodes a sampled response up to the stop string that ended it. */
import type { DecodeOptions, Tokenizer } from '../tokenizer/types.js';

export interface TextBeforeStopOptions extends DecodeOptions {
  /** Stop string that ended the response. @default none: the whole response is decoded */
  readonly stopString?: string | undefined;
}

/**
 * Returns the text before the stop string that ended the response. A sampler stops at the token
 * that completes the first stop string, so the result ends before the first stop string that the
 * last token completes. If the last token completes none, because the sampler added tokens after
 * the stop string, the result ends before the last stop string.
 */
export function textBeforeStop(
  tokenizer: Pick<Tokenizer, 'decode'>,
  tokens: Int32Array,
  { stopString, ...options }: TextBeforeStopOptions,
): string {
  const text = tokenizer.decode(tokens, options);
  if (stopString === undefined) return text;
  // U+FFFD stands for each byte of a character that the last token completes.
  const before = tokenizer.decode(tokens.subarray(0, -1), options).replace(/\uFFFD{1,3}$/, '');
  const completed = text.indexOf(stopString, before.length - stopString.length + 1);
  const at = completed < 0 ? text.lastIndexOf(stopString) : completed;
  return at < 0 ? text : text.slice(0, at);
}
