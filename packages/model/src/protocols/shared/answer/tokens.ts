/** Creates the response fields about tokens: usage and log-probabilities. */
import { type Tokenizer } from '@trinity-rft/chat';
import { tokenByteTable } from '@trinity-rft/chat';
import type { ChatResponse } from '@trinity-rft/core';
import type { SampledSequence, TokenLogprob } from '@trinity-rft/core/engine';
import type { OpenAI } from 'openai';
import type { Generation } from '../../../rollout/generate.js';

export function usage({ promptIds, choices }: Generation): OpenAI.CompletionUsage {
  const prompt = promptIds.length;
  const completion = choices.reduce((sum, { sequence }) => sum + sequence.tokens.length, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

interface TokenEntry {
  token: string;
  logprob: number;
  bytes: number[];
}

interface LogprobsContent {
  content: (TokenEntry & { top_logprobs: TokenEntry[] })[];
  refusal: null;
}

/**
 * Returns the log-probability of every sampled token.
 * @param top number of alternatives to return per token
 */
export function toLogprobs(
  sequence: SampledSequence,
  response: ChatResponse,
  tokenizer: Tokenizer,
  top: number,
): LogprobsContent {
  const table = tokenByteTable(tokenizer);
  const entry = ({ token, logprob }: TokenLogprob): TokenEntry => ({
    token: tokenizer.decode([token]),
    logprob,
    bytes: [...(table[token] ?? [])],
  });
  const content = Array.from(sequence.tokens, (token, i) => ({
    ...entry({ token, logprob: response.logprobs[i]! }),
    top_logprobs: (sequence.topLogprobs?.[i] ?? []).slice(0, top).map(entry),
  }));
  return { content, refusal: null };
}
