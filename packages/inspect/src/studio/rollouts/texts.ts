/** Texts of an experience: recorded texts, otherwise decoded tokens. */
import { tokenTexts, type Tokenizer } from '@trinity-rft/chat';
import { spansOf, type Experience } from '@trinity-rft/core';
import { askedText, textBlocks, type BlockKind } from '../interface/text-blocks.js';

type Texts = Pick<Experience, 'tokens' | 'promptLength' | 'promptText' | 'responseText'>;

/**
 * Returns everything that a text search looks at, in lower case: the recorded texts and the decoded
 * tokens.
 */
export function searchText(experience: Texts, tokenizer: Tokenizer | undefined): string {
  const { promptText = '', responseText = '', tokens } = experience;
  return `${promptText}\n${responseText}\n${textOf(tokens, tokenizer)}`.toLowerCase();
}

const longestAnswer = 100_000;

/**
 * Returns the user's question that a rollout began with. For the first call this is the user's last
 * message; later calls end with other texts, such as tool results, so for them it is the first
 * message.
 */
export function askedIn(
  { eid, promptText, tokens, promptLength }: Texts & Pick<Experience, 'eid'>,
  tokenizer: Tokenizer | undefined,
): string {
  const text = promptText ?? textOf(tokens.subarray(0, promptLength), tokenizer);
  return askedText(text, eid.step === 0 ? 'last' : 'first');
}

/**
 * Returns the response of a call: the recorded text if there is one, otherwise the decoded tokens
 * without template marks. If a row contains merged calls, only the last of them has a recorded
 * text.
 * @param length maximum length, in characters
 * @param call index in `spansOf(experience)`. @default the last call
 */
export function writtenBy(
  experience: Experience,
  tokenizer: Tokenizer | undefined,
  length: number,
  call = -1,
): string {
  const { responseText = '', tokens, promptLength } = experience;
  const spans = spansOf(experience);
  const span = spans.at(call);
  const own = span === spans.at(-1) ? responseText.trim() : '';
  if (own !== '') return own.slice(0, length);
  const { start, end } = span ?? { start: 0, end: 0 };
  const written = tokens.subarray(
    promptLength + start,
    promptLength + Math.min(end, start + length),
  );
  const text = textOf(written, tokenizer);
  return blocksOf(text, (kind) => kind !== 'mark').slice(0, length);
}

const blocksOf = (text: string, isWanted: (kind: BlockKind) => boolean): string =>
  textBlocks(text)
    .filter(({ kind }) => isWanted(kind))
    .map(({ start, end }) => text.slice(start, end))
    .join('')
    .trim();

/** Response of a call as in {@link writtenBy}, without reasoning and tool calls. */
export function spokenBy(
  experience: Experience,
  tokenizer: Tokenizer | undefined,
  length: number,
  call = -1,
): string {
  const text = writtenBy(experience, tokenizer, longestAnswer, call);
  return blocksOf(text, (kind) => kind === 'text').slice(0, length);
}

/**
 * Returns the answer of a rollout's last call: the text for the user or, if that is empty, the
 * whole response.
 */
export const answerOf = (
  experience: Experience,
  tokenizer: Tokenizer | undefined,
  length: number,
): string => spokenBy(experience, tokenizer, length) || writtenBy(experience, tokenizer, length);

const textOf = (tokens: Int32Array, tokenizer: Tokenizer | undefined): string =>
  tokenizer ? tokenTexts(tokenizer, tokens).join('') : '';
