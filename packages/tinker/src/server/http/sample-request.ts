/** Schema of requests to `/api/v1/asample`. */
import { randomInt } from 'node:crypto';
import type { SamplingOptions } from '@trinity-rft/core/engine';
import { requestSchemas } from '../../protocol/index.js';
import { z } from 'zod';
import { Refusal } from '../refusals/refusal.js';
import type { SampleWork } from '../service/sampling.js';

const { shape } = requestSchemas.asample;

const maxSamples = 1024;
const [maxStops, maxStopLength] = [128, 1000];

/**
 * Schema of a list of token ids. Reports only one problem, because a client may send millions of
 * invalid ids.
 */
const tokenIds = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every(isTokenId),
  'Expected a list of token ids.',
);

const isTokenId = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;

type Stop = string | readonly string[] | readonly number[];

const stop = z.custom<Stop>((value) => {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isText = (one: unknown): boolean => typeof one === 'string' && one.length <= maxStopLength;
  return (
    all.length <= maxStops && (all.every(isText) || (Array.isArray(value) && all.every(isTokenId)))
  );
}, `Expected a text, or up to ${maxStops} texts of ${maxStopLength} characters or token ids.`);

const topCount = z.int().min(0).max(20).nullish();

/**
 * Schema with all keys that this server supports. Some keys accept only the value that disables
 * them.
 */
export const sampleRequest = z.strictObject({
  ...shape,
  prompt: z.strictObject({
    chunks: z.array(
      z.strictObject({ ...shape.prompt.shape.chunks.element.shape, tokens: tokenIds }),
    ),
  }),
  num_samples: z.int().min(1).max(maxSamples).default(1),
  sampling_params: z.strictObject({ ...shape.sampling_params.shape, stop: stop.nullish() }),
  topk_prompt_logprobs: topCount,
  topk_sample_logprobs: topCount,
  prompt_alt_tokens_k: z.literal(0).nullish(),
  target_prompt_logprobs: z.null().optional(),
  prompt_logprobs_last_n: z.null().optional(),
  record_stability_info: z.literal(false).nullish(),
  type: z.string().optional(),
});

export type SampleRequest = z.infer<typeof sampleRequest>;

export function promptOf({ prompt }: SampleRequest): Int32Array {
  const tokens = prompt.chunks.flatMap((chunk) => chunk.tokens);
  if (tokens.length > 0) return Int32Array.from(tokens);
  throw new Refusal(422, 'prompt.chunks have no tokens. Expected at least one.');
}

export function samplingOptions({
  num_samples: n,
  sampling_params: params,
  topk_sample_logprobs: topLogprobs,
}: SampleRequest): SampleWork['options'] {
  const { max_tokens: maxTokens, seed, temperature, top_k: topK, top_p: topP } = params;
  return {
    n,
    maxTokens: maxTokens ?? undefined,
    seed: (seed ?? randomInt(2 ** 32)) >>> 0,
    temperature,
    topK,
    topP,
    topLogprobs: topLogprobs ?? 0,
    ...stopOf(params.stop),
  };
}

function stopOf(
  given: SampleRequest['sampling_params']['stop'],
): Pick<SamplingOptions, 'stop' | 'stopTokenIds'> {
  if (given === undefined || given === null) return {};
  if (typeof given === 'string') return { stop: [given] };
  return given.every((value) => typeof value === 'string')
    ? { stop: given }
    : { stopTokenIds: given as readonly number[] };
}
