/** One experience in full, as plain data for the page. */
import { type Tokenizer } from '@trinity-rft/chat';
import { tokenTexts } from '@trinity-rft/chat/internal';
import type { Experience } from '@trinity-rft/core';
import type { CallSpan } from '@trinity-rft/core/internal';
import { headOf, type ExperienceHead } from './head.js';

/** A token; the numbers are absent in the prompt, and where none were recorded. */
export interface TokenDetail {
  readonly id: number;
  /** `null` without a tokenizer. The last of several tokens has the character that they share. */
  readonly text: string | null;
  /** 1 = sampled and trained on. */
  readonly mask?: number;
  readonly logprob?: number;
  readonly advantage?: number;
  readonly tokenReward?: number;
}

export interface ExperienceDetail extends ExperienceHead {
  readonly promptLength: number;
  readonly temperature: number;
  readonly promptText?: string;
  readonly responseText?: string;
  readonly tokens: readonly TokenDetail[];
  readonly spans?: readonly CallSpan[];
  readonly metrics: Experience['metrics'];
  readonly info: Experience['info'];
}

export function detailOf(
  id: number,
  experience: Experience,
  tokenizer: Tokenizer | undefined,
): ExperienceDetail {
  const { promptLength, temperature, promptText, responseText, spans, metrics, info } = experience;
  return {
    ...headOf(id, experience),
    promptLength,
    temperature,
    promptText,
    responseText,
    tokens: tokensOf(experience, tokenizer),
    spans,
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
