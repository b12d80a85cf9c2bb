/** Complete experience as plain data for the page. */
import type { ExperienceUse } from '@trinity-rft/buffer';
import { tokenTexts, type Tokenizer } from '@trinity-rft/chat';
import type { Experience } from '@trinity-rft/core';
import type { RolloutDetail, TokenDetail } from '../interface/types.js';
import { headOf, problemOf } from './head.js';
import { knownNumber } from './numbers.js';
import { advantagesOf, type UsedAdvantages } from './store.js';

export function detailOf(
  id: number,
  experience: Experience,
  uses: readonly ExperienceUse[],
  tokenizer: Tokenizer | undefined,
): RolloutDetail {
  const { promptLength, temperature, promptText, responseText, spans, metrics, info } = experience;
  const advantages = advantagesOf(experience, uses);
  return {
    ...headOf(id, experience),
    truncated: experience.truncateStatus,
    problem: problemOf(experience),
    promptLength,
    temperature,
    promptText,
    responseText,
    tokens: [...tokensOf(experience, advantages, tokenizer)],
    spans: spans && [...spans],
    uses: uses.map(({ trainStep, dropped, advantage }) => ({ trainStep, dropped, advantage })),
    advantagesOf: advantages.of,
    metrics,
    info,
  };
}

function tokensOf(
  experience: Experience,
  { values: advantages }: UsedAdvantages,
  tokenizer: Tokenizer | undefined,
): readonly TokenDetail[] {
  const { tokens, promptLength, actionMask, logprobs, tokenRewards } = experience;
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
      advantage: knownNumber(advantages?.[at]),
      tokenReward: tokenRewards?.[at],
      teacherLogprob: experience.teacherLogprobs?.[at],
    };
  });
}
