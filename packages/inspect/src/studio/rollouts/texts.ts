/** Texts of an experience: recorded ones, else those of its tokens. */
import type { Tokenizer } from '@trinity-rft/chat';
import { tokenTexts } from '@trinity-rft/chat';
import type { Experience } from '@trinity-rft/core';
import { lastSaid, textBlocks } from '../interface/text-blocks.js';

type Texts = Pick<Experience, 'tokens' | 'promptLength' | 'promptText' | 'responseText'>;

/** The text of an experience in which a search looks, in lower case. */
export function searchText(experience: Texts, tokenizer: Tokenizer | undefined): string {
  const { promptText = '', responseText = '', tokens } = experience;
  return `${promptText}\n${responseText}\n${textOf(tokens, tokenizer)}`.toLowerCase();
}

const previewLength = 240;

/** End of what the model read last. */
export function questionOf(
  { promptText, tokens, promptLength }: Texts,
  tokenizer: Tokenizer | undefined,
): string {
  const text = promptText ?? textOf(tokens.subarray(0, promptLength), tokenizer);
  return lastSaid(text).slice(-previewLength);
}

/** The beginning of what it wrote. */
export const answerOf = (experience: Texts, tokenizer: Tokenizer | undefined): string =>
  writtenBy(experience, tokenizer, previewLength);

/** Text that the model wrote, without the marks of a template; of calls that were merged, all after the first prompt. */
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
