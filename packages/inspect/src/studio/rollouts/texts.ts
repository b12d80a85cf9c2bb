/** Texts of an experience: the recorded ones, else its decoded tokens. */
import type { Tokenizer } from '@trinity-rft/chat';
import { tokenTexts } from '@trinity-rft/chat';
import type { Experience } from '@trinity-rft/core';
import { askedText, textBlocks } from '../interface/text-blocks.js';

type Texts = Pick<Experience, 'tokens' | 'promptLength' | 'promptText' | 'responseText'>;

/** The text of an experience that a search covers, in lower case. */
export function searchText(experience: Texts, tokenizer: Tokenizer | undefined): string {
  const { promptText = '', responseText = '', tokens } = experience;
  return `${promptText}\n${responseText}\n${textOf(tokens, tokenizer)}`.toLowerCase();
}

const longestAnswer = 100_000;

/**
 * Text with which the user asked for the rollout that begins with this call. Prompts of later calls
 * end with what came after it, such as results of tools.
 */
export function askedIn(
  { eid, promptText, tokens, promptLength }: Texts & Pick<Experience, 'eid'>,
  tokenizer: Tokenizer | undefined,
): string {
  const text = promptText ?? textOf(tokens.subarray(0, promptLength), tokenizer);
  return askedText(text, eid.step === 0 ? 'last' : 'first');
}

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

/** Text for the user that a call wrote: neither reasoning nor tool calls. */
export function spokenBy(
  experience: Texts,
  tokenizer: Tokenizer | undefined,
  length: number,
): string {
  const text = writtenBy(experience, tokenizer, longestAnswer);
  const spoken = textBlocks(text).filter(({ kind }) => kind === 'text');
  return spoken
    .map(({ start, end }) => text.slice(start, end))
    .join('')
    .trim()
    .slice(0, length);
}

/** The answer of a rollout: what its last call says, or all that it wrote if it says nothing. */
export const answerOf = (
  experience: Texts,
  tokenizer: Tokenizer | undefined,
  length: number,
): string => spokenBy(experience, tokenizer, length) || writtenBy(experience, tokenizer, length);

const textOf = (tokens: Int32Array, tokenizer: Tokenizer | undefined): string =>
  tokenizer ? tokenTexts(tokenizer, tokens).join('') : '';
