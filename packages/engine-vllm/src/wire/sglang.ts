/**
 * Converts requests and responses of SGLang's `/generate` to the format of vLLM's
 * `/inference/v1/generate`.
 */
import { ModelError } from '@trinity-rft/core';
import type { SamplingOptions } from '@trinity-rft/core/engine';
import { z } from 'zod';
import { readAnswer } from './read.js';

export const sglangPath = '/generate';

/**
 * Returns the sampling parameters of choice `choice`. `ignore_eos` is set only if there are no stop
 * ids, because in SGLang it also disables `stop_token_ids`.
 * @throws ModelError 400 for options that this sampler does not support
 */
export function sglangParams(
  options: SamplingOptions,
  choice: number,
): Readonly<Record<string, unknown>> {
  if (options.grammar !== undefined)
    throw new ModelError(
      'SGLang servers cannot restrict answers to a grammar here. Set explorer.constrained_decoding: false.',
      { code: 'SAMPLING_UNSUPPORTED', status: 400 },
    );
  const { temperature = 1, topP = 1, topK = -1, minTokens = 0, stopTokenIds = [] } = options;
  return {
    temperature,
    top_p: topP,
    top_k: topK,
    max_new_tokens: options.maxTokens,
    min_new_tokens: Math.min(minTokens, options.maxTokens),
    stop_token_ids: stopTokenIds,
    stop: options.stop ?? [],
    ignore_eos: stopTokenIds.length === 0,
    no_stop_trim: true,
    skip_special_tokens: false,
    sampling_seed: options.seed + choice,
  };
}

/** Schema of a token in a response: its log-probability, its id and its text. */
const entry = z.tuple([z.number().nullable(), z.number().int()]).rest(z.unknown());

const answered = z.object({
  meta_info: z.object({
    finish_reason: z.object({
      type: z.string(),
      matched: z.union([z.number(), z.string()]).nullish(),
    }),
    output_token_logprobs: z.array(entry),
    output_top_logprobs: z.array(z.array(entry).nullish()).nullish(),
    weight_version: z.string().nullish(),
  }),
});

type Entry = z.infer<typeof entry>;

const asLogprob = ([logprob, id]: Entry) => ({ token_id: id, logprob });

/**
 * Converts a response to a choice in vLLM's response format.
 * @throws ServerFault if the response cannot be read
 */
export function choiceOf(answer: unknown, index: number, url: string): object {
  const { meta_info: all } = readAnswer(url, answered, answer);
  const { finish_reason: end, weight_version: version, ...meta } = all;
  const entries = meta.output_token_logprobs;
  const span = { version, start: 0, end: entries.length };
  return {
    index,
    finish_reason: end.type,
    stop_reason: end.matched,
    token_ids: entries.map(([, id]) => id),
    weight_versions: typeof version === 'string' && entries.length > 0 ? [span] : [],
    logprobs: {
      content: entries.map((one, i) => ({
        ...asLogprob(one),
        top_logprobs: meta.output_top_logprobs?.[i]?.map(asLogprob),
      })),
    },
  };
}

const scored = z.object({ meta_info: z.object({ input_token_logprobs: z.array(entry) }) });

/**
 * Converts a response to a choice and prompt log-probabilities in vLLM's response format.
 * @throws ServerFault if the response cannot be read
 */
export function scoresOf(answer: unknown, url: string): object {
  const { input_token_logprobs: entries } = readAnswer(url, scored, answer).meta_info;
  return {
    choices: [choiceOf(answer, 0, url)],
    prompt_logprobs: entries.map(([logprob, id]) =>
      logprob === null ? null : { [id]: { logprob } },
    ),
  };
}
