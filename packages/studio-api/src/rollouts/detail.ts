/** One experience in full, as plain data for the page. */
import { type Tokenizer } from '@trinity-rft/chat';
import { tokenTexts } from '@trinity-rft/chat/internal';
import type { Experience } from '@trinity-rft/core';
import type { RolloutDetail, TokenDetail } from '../interface/types.js';
import { headOf } from './head.js';

export function detailOf(
  id: number,
  experience: Experience,
  tokenizer: Tokenizer | undefined,
): RolloutDetail {
  const { promptLength, temperature, promptText, responseText, spans, metrics, info } = experience;
  return {
    ...headOf(id, experience),
    promptLength,
    temperature,
    promptText,
    responseText,
    tokens: [...tokensOf(experience, tokenizer)],
    spans: spans && [...spans],
    metrics,
    info,
  };
}

function tokensOf(
  experience: Experience,
  tokenizer: Tokenizer | undefined,
): readonly TokenDetail[] {
  const { tokens, promptLength, actionMask, logprobs, advantages, tokenRewards } = experience;
  const texts = tokenizer && tokenTexts(tokenizer, tokens);
  return Array.from(tokens, (token, i): TokenDetail => {
    const text = texts?.[i] ?? null;
    const at = i - promptLength;
    if (at < 0) return { id: token, text };
    return {
      id: token,
      text,
      mask: actionMask[at],
      logprob: actionMask[at] === 1 ? logprobs[at] : undefined,
      advantage: advantages?.[at],
      tokenReward: tokenRewards?.[at],
    };
  });
}

/** The text of an experience in which a search looks, in lower case. */
export function searchText(experience: Experience, tokenizer: Tokenizer | undefined): string {
  const { promptText = '', responseText = '', tokens } = experience;
  const text = tokenizer ? tokenTexts(tokenizer, tokens).join('') : '';
  return `${promptText}\n${responseText}\n${text}`.toLowerCase();
}

const previewLength = 240;

/** The end of the prompt: that of a conversation is what the model was asked last. */
export function questionOf(
  { promptText, tokens, promptLength }: Experience,
  tokenizer: Tokenizer | undefined,
): string {
  const text = promptText ?? textOf(tokens.subarray(0, promptLength), tokenizer);
  return text.trim().slice(-previewLength);
}

/** The beginning of the response. */
export function answerOf(
  { responseText, tokens, promptLength }: Experience,
  tokenizer: Tokenizer | undefined,
): string {
  const text =
    responseText === undefined || responseText === ''
      ? textOf(tokens.subarray(promptLength, promptLength + previewLength), tokenizer)
      : responseText;
  return text.trim().slice(0, previewLength);
}

const textOf = (tokens: Int32Array, tokenizer: Tokenizer | undefined): string =>
  tokenizer ? tokenTexts(tokenizer, tokens).join('') : '';
