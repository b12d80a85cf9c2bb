/**
 * Requests and responses of the vLLM endpoint that takes the token ids of a prompt, and returns
 * token ids with log-probabilities.
 */
import { ModelError } from '@trinity-rft/core';
import type { SamplingOptions, TokenListener, TokenLogprob } from '@trinity-rft/core/engine';
import { z } from 'zod';
import { ServerFault } from './fault.js';
import { readAnswer } from './read.js';

export const generatePath = '/inference/v1/generate';

/**
 * Lowest temperature that vLLM supports, except 0, which means greedy sampling. vLLM raises lower
 * temperatures to this value.
 */
const lowestTemperature = 0.01;

/**
 * Returns the sampling parameters of a request. Choice k is sampled with the seed `seed + k`. The
 * model's end-of-sequence token ends a choice only if `stopTokenIds` contains it.
 * @throws ModelError 400 for options that vLLM would ignore or interpret differently
 */
export function samplingParams(options: SamplingOptions): Readonly<Record<string, unknown>> {
  const { n = 1, temperature = 1, topP = 1, topK = -1, minTokens = 0, topLogprobs = 0 } = options;
  if (options.grammar !== undefined)
    throw refused(
      'vLLM servers cannot restrict answers to a grammar here. Set explorer.constrained_decoding: false.',
    );
  if (temperature > 0 && temperature < lowestTemperature)
    throw refused(
      `vLLM samples at no temperature between 0 and ${lowestTemperature}; got ${temperature}. Use 0 or at least ${lowestTemperature}.`,
    );
  return {
    n,
    temperature,
    top_p: topP,
    top_k: topK,
    max_tokens: options.maxTokens,
    min_tokens: Math.min(minTokens, options.maxTokens),
    stop_token_ids: options.stopTokenIds ?? [],
    stop: options.stop ?? [],
    ignore_eos: true,
    seed: options.seed,
    logprobs: topLogprobs,
  };
}

const refused = (message: string): ModelError =>
  new ModelError(message, { code: 'SAMPLING_UNSUPPORTED', status: 400 });

const logprobEntry = z.object({ token_id: z.number().int(), logprob: z.number() });

const choice = z.object({
  index: z.number().int(),
  finish_reason: z.string(),
  stop_reason: z.union([z.number(), z.string()]).nullish(),
  token_ids: z.array(z.number().int()),
  weight_versions: z
    .array(z.object({ version: z.string(), start: z.number().int(), end: z.number().int() }))
    .nullish(),
  logprobs: z.object({
    content: z.array(logprobEntry.extend({ top_logprobs: z.array(logprobEntry).nullish() })),
  }),
});

const generated = z.object({ choices: z.array(choice) });

/**
 * Range [start, end) of tokens that were sampled with the same weights, which are identified by the
 * label of their delivery.
 */
interface LabelSpan {
  readonly label: string;
  readonly start: number;
  readonly end: number;
}

/** A validated choice of a response. */
export interface GeneratedChoice {
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly stopReason: 'stop' | 'length';
  readonly stopString?: string;
  readonly topLogprobs?: readonly (readonly TokenLogprob[])[];
  /**
   * Spans with the labels of the weights, in order and without gaps; empty if the server reports no
   * labels.
   */
  readonly labels: readonly LabelSpan[];
}

export interface Expected {
  /** Full URL of the call, for error messages. */
  readonly url: string;
  readonly options: SamplingOptions;
  readonly vocabSize: number;
}

const delta = z.object({
  choices: z.array(
    z.object({
      index: z.number().int(),
      finish_reason: z.string().nullish(),
      stop_reason: z.union([z.number(), z.string()]).nullish(),
      token_ids: z.array(z.number().int()).nullish(),
      weight_versions: z.unknown().optional(),
      logprobs: z.object({ content: z.array(z.unknown()) }).nullish(),
    }),
  ),
});

/**
 * Assembles the events of a stream into a response in the format that {@link readChoices} reads,
 * and reports the tokens of each event.
 */
export function gatherChoices(url: string, onTokens: TokenListener) {
  const choices = new Map<number, { token_ids: number[]; logprobs: { content: unknown[] } }>();
  return {
    onEvent: (event: unknown): void => {
      for (const part of readAnswer(url, delta, event).choices) {
        const { index, token_ids: tokens, logprobs, finish_reason: end, ...last } = part;
        const choice = choices.get(index) ?? { token_ids: [], logprobs: { content: [] } };
        choices.set(index, choice);
        choice.token_ids.push(...(tokens ?? []));
        choice.logprobs.content.push(...(logprobs?.content ?? []));
        if (typeof end === 'string') Object.assign(choice, { ...last, index, finish_reason: end });
        if (tokens && tokens.length > 0) onTokens(index, tokens);
      }
    },
    answer: (): object => ({ choices: [...choices.values()] }),
  };
}

/**
 * Validates a response and returns its choices.
 * @throws ServerFault if the response does not fit the request: wrong lengths, values that are not
 * finite, or ids outside the vocabulary
 */
export function readChoices(answer: unknown, expected: Expected): readonly GeneratedChoice[] {
  const { url, options } = expected;
  const wrong = (what: string): ServerFault => new ServerFault('broken', `${url} answered ${what}`);
  const data = readAnswer(url, generated, answer);
  const count = options.n ?? 1;
  const choices = data.choices.toSorted((a, b) => a.index - b.index);
  if (choices.length !== count || choices.some(({ index }, i) => index !== i))
    throw wrong(`choices ${choices.map(({ index }) => index).join(', ')}; ${count} were asked for`);
  return choices.map((one) => readChoice(one, expected, wrong));
}

function readChoice(
  { token_ids: ids, logprobs: { content }, ...one }: z.infer<typeof choice>,
  { options, vocabSize }: Expected,
  wrong: (what: string) => ServerFault,
): GeneratedChoice {
  const place = `for choice ${one.index}`;
  // The choice was aborted by `pause?mode=abort`, or because the server is shutting down.
  if (one.finish_reason === 'abort')
    throw new ServerFault('broken', wrong(`an aborted text ${place}`).message);
  if (ids.length === 0 || ids.length > options.maxTokens)
    throw wrong(`${ids.length} tokens ${place}; ${options.maxTokens} is the limit`);
  if (content.length !== ids.length)
    throw wrong(`${content.length} log-probabilities of ${ids.length} tokens ${place}`);
  const odd = content.findIndex(
    ({ token_id: id, logprob }, i) =>
      id !== ids[i] || id < 0 || id >= vocabSize || !(logprob <= 1e-6 && logprob > -Infinity),
  );
  if (odd >= 0)
    throw wrong(
      `token ${ids[odd]} with log-probability ${content[odd]?.logprob} of token ${content[odd]?.token_id} at place ${odd} ${place}; there are ${vocabSize} tokens`,
    );
  const count = options.topLogprobs ?? 0;
  return {
    tokens: Int32Array.from(ids),
    // Rounding can make a log-probability slightly larger than 0.
    logprobs: Float32Array.from(content, ({ logprob }) => Math.min(0, logprob)),
    stopReason: one.finish_reason === 'length' ? 'length' : 'stop',
    stopString: typeof one.stop_reason === 'string' ? one.stop_reason : undefined,
    topLogprobs: count > 0 ? content.map((entry) => best(entry.top_logprobs, count)) : undefined,
    labels: labelsOf(one.weight_versions ?? [], ids.length, (what) => wrong(`${what} ${place}`)),
  };
}

/**
 * Returns the `count` most probable tokens of the server's list. The list may also contain the
 * sampled token, although it is less probable, and tokens of probability 0.
 */
const best = (
  entries: readonly z.infer<typeof logprobEntry>[] | null | undefined,
  count: number,
): readonly TokenLogprob[] =>
  (entries ?? [])
    .filter(({ logprob }) => logprob > lowestLogprob)
    .map(({ token_id: token, logprob }) => ({ token, logprob: Math.min(0, logprob) }))
    .toSorted((a, b) => b.logprob - a.logprob)
    .slice(0, count);

/** Value that vLLM reports instead of minus infinity, which JSON cannot represent. */
const lowestLogprob = -9999;

function labelsOf(
  spans: readonly { readonly version: string; readonly start: number; readonly end: number }[],
  length: number,
  wrong: (what: string) => ServerFault,
): readonly LabelSpan[] {
  let end = 0;
  for (const span of spans) {
    if (span.start !== end || span.end <= span.start)
      throw wrong(`weights for tokens ${span.start} to ${span.end} after ${end}`);
    ({ end } = span);
  }
  if (spans.length > 0 && end !== length) throw wrong(`weights for ${end} of ${length} tokens`);
  return spans.map(({ version: label, ...range }) => ({ label, ...range }));
}

const scored = z.object({
  prompt_logprobs: z.array(z.record(z.string(), z.object({ logprob: z.number() })).nullable()),
  choices: z.array(choice.pick({ weight_versions: true })).default([]),
});

export interface Scores {
  /** Log-probabilities of the tokens from `promptLength` on, in nats. [R] */
  readonly logprobs: Float32Array;
  /** Labels of the weights; empty if the server reports no labels. */
  readonly labels: readonly string[];
}

/**
 * Returns the log-probabilities of the tokens from `promptLength` on, from the `prompt_logprobs` of
 * a response, and the labels of the weights from the token that was sampled after them.
 * @throws ServerFault if a log-probability is missing or not finite
 */
export function readScores(
  answer: unknown,
  { tokens, promptLength, url }: { tokens: Int32Array; promptLength: number; url: string },
): Scores {
  const data = readAnswer(url, scored, answer);
  const values = Float32Array.from(
    tokens.subarray(promptLength),
    (token, i) => data.prompt_logprobs[promptLength + i]?.[token]?.logprob ?? Number.NaN,
  );
  const odd = values.findIndex((value) => !(value <= 1e-6 && value > -Infinity));
  if (odd >= 0 || data.prompt_logprobs.length !== tokens.length)
    throw new ServerFault(
      'broken',
      `${url} answered ${data.prompt_logprobs.length} log-probabilities for a text of ${tokens.length} tokens, and ${odd < 0 ? 'all are numbers' : `none for token ${promptLength + odd}`}`,
    );
  return {
    logprobs: values.map((value) => Math.min(0, value)),
    labels: data.choices.flatMap((one) => one.weight_versions ?? []).map(({ version }) => version),
  };
}
