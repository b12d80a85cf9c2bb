/** Texts of an experience: the recorded ones, else its decoded tokens. */
import type { Tokenizer } from '@trinity-rft/chat';
import { tokenTexts } from '@trinity-rft/chat';
import type { Experience } from '@trinity-rft/core';
import { lastAsked, textBlocks } from '../interface/text-blocks.js';

type Texts = Pick<Experience, 'tokens' | 'promptLength' | 'promptText' | 'responseText'>;

/** The text of an experience that a search covers, in lower case. */
export function searchText(experience: Texts, tokenizer: Tokenizer | undefined): string {
  const { promptText = '', responseText = '', tokens } = experience;
  return `${promptText}\n${responseText}\n${textOf(tokens, tokenizer)}`.toLowerCase();
}

const previewLength = 240;

/** End of what the user asked last. */
export function questionOf(
  { promptText, tokens, promptLength }: Texts,
  tokenizer: Tokenizer | undefined,
): string {
  const text = promptText ?? textOf(tokens.subarray(0, promptLength), tokenizer);
  return lastAsked(text).slice(-previewLength);
}

/** Beginning of the text that the model wrote. */
export const answerOf = (experience: Texts, tokenizer: Tokenizer | undefined): string =>
  writtenBy(experience, tokenizer, previewLength);

/**
 * Text that the model wrote, without template marks; for merged calls, everything after the first
 * prompt.
 */
export function writtenBy(
  { responseText = '', tokens, promptLength }: Texts,
  tokenizer: Tokenizer | undefined,
  length: number,
): string {
  const own = responseText.trim();
  if (own !== '') return own.slice(0, length);
  const text = textOf(tokens.subarray(promptLength, promptLength + length), tokenizer);
  const said = textBlocks(text).filter(({ kind }) => kind !== 'mark');
  return said
    .map(({ start, end }) => text.slice(start, end))
    .join('')
    .trim()
    .slice(0, length);
}

const textOf = (tokens: Int32Array, tokenizer: Tokenizer | undefined): string =>
  tokenizer ? tokenTexts(tokenizer, tokens).join('') : '';
