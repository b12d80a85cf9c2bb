/**
 * Resolves the sampling settings of one call, from the options of the call and the defaults and
 * limits of the rollout.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { ModelError, type ChatOptions } from '@trinity-rft/core';
import type { SamplingOptions } from '@trinity-rft/core/engine';

/** Sampling settings of the rollout, for calls that do not set these values. */
export interface SamplingDefaults {
  /** Sampling temperature; 0 = greedy. @default 1 */
  readonly temperature?: number;
  /**
   * Top-p: only the most likely tokens whose probabilities add up to this value can be sampled.
   * @default 1
   */
  readonly topP?: number;
  /** Top-k: number of most likely tokens that can be sampled; -1 for no limit. @default -1 */
  readonly topK?: number;
  /** Maximum number of tokens in the response. @default undefined: only the other limits apply */
  readonly maxTokens?: number;
  /** Minimum number of tokens in the response. @default 0 */
  readonly minTokens?: number;
}

/** Upper bounds in tokens. Where a bound is absent, only the sampler's limit applies. */
export interface RolloutLimits {
  readonly maxPromptTokens?: number;
  readonly maxResponseTokens?: number;
  /** Maximum number of tokens in prompt and response together. */
  readonly maxModelLen?: number;
}

export type CallSampling = Pick<
  ChatOptions,
  'n' | 'temperature' | 'topP' | 'topK' | 'maxTokens' | 'minTokens' | 'stop' | 'topLogprobs'
> & {
  /**
   * Seed of this call, instead of a seed derived by the rollout. Equal seeds and prompts give equal
   * responses.
   */
  readonly seed?: number;
};

export interface SamplingContext {
  readonly defaults: SamplingDefaults;
  readonly limits: RolloutLimits;
  readonly promptLength: number;
  /** The sampler's `maxModelLen`: maximum number of tokens in prompt and response together. */
  readonly maxModelLen: number;
  readonly stopTokenIds: readonly number[];
  readonly seed: number;
}

/**
 * Resolves the settings of a call.
 * @throws ModelError 400: `context_length_exceeded`, or `invalid_request` for values out of range
 */
export function resolveSampling(
  call: CallSampling,
  context: SamplingContext,
): SamplingOptions & { readonly temperature: number } {
  const { defaults, stopTokenIds, seed } = context;
  checkRanges(call);
  const { n = 1, stop, topLogprobs = 0 } = call;
  const maxTokens = Math.min(
    call.maxTokens ?? defaults.maxTokens ?? Infinity,
    maxResponseTokens(context),
  );
  const minTokens = Math.min(call.minTokens ?? defaults.minTokens ?? 0, maxTokens);
  return {
    n,
    temperature: call.temperature ?? defaults.temperature ?? 1,
    topP: call.topP ?? defaults.topP ?? 1,
    topK: call.topK ?? defaults.topK ?? -1,
    maxTokens,
    stopTokenIds,
    seed,
    ...(minTokens > 0 && { minTokens }),
    ...(stop && stop.length > 0 && { stop }),
    ...(topLogprobs > 0 && { topLogprobs }),
  };
}

/**
 * Returns the number of tokens that the limits leave for the response, at least 1.
 * @throws ModelError 400 if the prompt is too long
 */
function maxResponseTokens({ limits, promptLength, maxModelLen }: SamplingContext): number {
  const { maxPromptTokens = Infinity, maxResponseTokens: maximum = Infinity } = limits;
  const maxTotal = Math.min(limits.maxModelLen ?? Infinity, maxModelLen);
  if (promptLength > maxPromptTokens)
    throw promptTooLong(promptLength, `at most ${maxPromptTokens} (max_prompt_tokens) are allowed`);
  if (promptLength >= maxTotal)
    throw promptTooLong(promptLength, `prompt and response together may have ${maxTotal}`);
  return Math.min(maximum, maxTotal - promptLength);
}

/** Ways to make a prompt fit, which complete a sentence that begins with "Shorten it, ". */
export const howToFit =
  'send fewer messages or tools, or a smaller response_format (both are parts of the prompt), or raise max_prompt_tokens or max_model_len';

function promptTooLong(promptLength: number, limit: string): ModelError {
  return new ModelError(
    `The prompt has ${promptLength} tokens; ${limit}. Shorten it, ${howToFit}.`,
    {
      status: 400,
      code: 'context_length_exceeded',
      details: { param: 'messages', promptLength },
    },
  );
}

interface Range {
  readonly ok: (value: number) => boolean;
  readonly expected: string;
}

const integerFrom = (least: number): Range => ({
  ok: (value) => Number.isInteger(value) && value >= least,
  expected: `an integer of at least ${least}`,
});

const ranges: readonly (Range & { readonly name: keyof CallSampling })[] = [
  { name: 'n', ...integerFrom(1) },
  {
    name: 'temperature',
    ok: (value) => value >= 0 && value < Infinity,
    expected: 'a number of at least 0',
  },
  {
    name: 'topP',
    ok: (value) => value > 0 && value <= 1,
    expected: 'a number above 0 and up to 1',
  },
  {
    name: 'topK',
    ok: (value) => Number.isInteger(value) && (value >= 1 || value === -1),
    expected: 'an integer of at least 1, or -1',
  },
  { name: 'maxTokens', ...integerFrom(1) },
  { name: 'minTokens', ...integerFrom(0) },
  { name: 'topLogprobs', ...integerFrom(0) },
];

function checkRanges(call: CallSampling): void {
  for (const { name, ok, expected } of ranges) {
    const value = call[name];
    if (value !== undefined && !ok(value as number))
      throw invalidRequest(name, `is ${quote(value)}`, expected);
  }
}
