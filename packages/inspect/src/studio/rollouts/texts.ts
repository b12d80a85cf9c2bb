/** Texts of an experience: recorded texts, otherwise decoded tokens. */
import { tokenTexts, type Tokenizer } from '@trinity-rft/chat';
import { spansOf, type Experience } from '@trinity-rft/core';
import { askedText, textBlocks, type BlockKind } from '../interface/text-blocks.js';

type Texts = Pick<Experience, 'tokens' | 'promptLength' | 'promptText' | 'responseText'>;

/** Searchable text of an experience, in lower case. */
export function searchText(experience: Texts, tokenizer: Tokenizer | undefined): string {
  const { promptText = '', responseText = '', tokens } = experience;
  return `${promptText}\n${responseText}\n${textOf(tokens, tokenizer)}`.toLowerCase();
}

const longestAnswer = 100_000;

/**
 * The user's question in the first call of a rollout. Prompts of later calls end with other texts,
 * such as tool results.
 */
export function askedIn(
  { eid, promptText, tokens, promptLength }: Texts & Pick<Experience, 'eid'>,
  tokenizer: Tokenizer | undefined,
): string {
  const text = promptText ?? textOf(tokens.subarray(0, promptLength), tokenizer);
  return askedText(text, eid.step === 0 ? 'last' : 'first');
}

/**
 * Returns the response of a call: the recorded text, otherwise the decoded tokens without template
 * marks. Of merged calls, only the last one has a recorded text.
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

/** Answer of a rollout's last call: its text for the user, otherwise its whole response. */
export const answerOf = (
  experience: Experience,
  tokenizer: Tokenizer | undefined,
  length: number,
): string => spokenBy(experience, tokenizer, length) || writtenBy(experience, tokenizer, length);

const textOf = (tokens: Int32Array, tokenizer: Tokenizer | undefined): string =>
  tokenizer ? tokenTexts(tokenizer, tokens).join('') : '';
