/** Validates the sampling options of a request and adds defaults. */
import { ModelError } from '@trinity-rft/core';
import type { SamplingOptions, TextGrammar } from '@trinity-rft/core/engine';

import type { DecodeVariant } from '../model/sampling-graphs.js';

/** One validated request to the sampler. */
export interface SamplePlan {
  readonly prompt: Int32Array;
  readonly choices: number;
  /** Number of choices of the same request with smaller indices, which other samplers sample. */
  readonly firstChoice: number;
  /** Sampling temperature; 0 samples greedily. */
  readonly temperature: number;
  readonly topP: number;
  /** Number of most probable tokens that may be sampled; Infinity for all tokens. */
  readonly topK: number;
  /**
   * Maximum number of tokens to sample. It is reduced so that prompt and response together fit the
   * maximum length.
   */
  readonly maxTokens: number;
  readonly minTokens: number;
  readonly stopTokenIds: ReadonlySet<number>;
  readonly stops: readonly StopString[];
  readonly seed: number;
  readonly topLogprobs: number;
  readonly grammar?: TextGrammar;
  /**
   * `sampled`: the graph draws the tokens. `logprobs`: the graph returns distributions, from which
   * tokens are drawn in TypeScript.
   */
  readonly variant: DecodeVariant;
}

export interface StopString {
  readonly text: string;
  /** The stop string in UTF-8. */
  readonly bytes: Uint8Array;
}

/** Limits of a request. */
export interface SampleLimits {
  readonly vocabSize: number;
  readonly maxModelLen: number;
  /** True if the engine has the bytes of its tokens. */
  readonly hasTokenBytes: boolean;
}

/** Maximum number of alternatives per token. */
const maxTopLogprobs = 100;

/**
 * Returns the plan of a request.
 * @throws ModelError 400 that names the option, its value and the allowed values
 */
export function planSample(
  prompt: Int32Array,
  options: SamplingOptions,
  limits: SampleLimits,
  firstChoice = 0,
): SamplePlan {
  const complete = withDefaults(options);
  const { n, temperature, topP, topK, minTokens, topLogprobs, stop, grammar } = complete;
  checkPrompt(prompt, limits);
  checkLengths(complete);
  checkDistribution(complete);
  checkTexts(complete, limits);
  checkStopTokens(complete, limits);
  const isPlain =
    temperature > 0 &&
    topP === 1 &&
    topK === -1 &&
    minTokens === 0 &&
    topLogprobs === 0 &&
    !grammar;
  return {
    prompt,
    choices: n,
    firstChoice,
    temperature,
    topP,
    topK: topK === -1 ? Infinity : topK,
    maxTokens: Math.min(options.maxTokens, limits.maxModelLen - prompt.length),
    minTokens,
    stopTokenIds: new Set(options.stopTokenIds),
    stops: stop.map((text) => ({ text, bytes: Buffer.from(text, 'utf8') })),
    seed: options.seed,
    topLogprobs,
    grammar,
    variant: isPlain ? 'sampled' : 'logprobs',
  };
}

function withDefaults(options: SamplingOptions) {
  const { n = 1, temperature = 1, topP = 1, topK = -1 } = options;
  const { minTokens = 0, topLogprobs = 0, stop = [] } = options;
  return { ...options, n, temperature, topP, topK, minTokens, topLogprobs, stop };
}
type CompleteOptions = ReturnType<typeof withDefaults>;

/**
 * Maximum number of sequences of one request. A larger number would fill the memory before the
 * first sequence is sampled.
 */
const maxChoices = 2 ** 16;

/**
 * Lowest temperature above 0. With lower temperatures, logits divided by the temperature would
 * exceed the range of float32.
 */
const leastTemperature = 1e-30;

function checkLengths({ n, maxTokens, minTokens }: CompleteOptions): void {
  demand(isWhole(n) && n >= 1 && n <= maxChoices, 'n', n, `a whole number from 1 to ${maxChoices}`);
  demand(
    isWhole(maxTokens) && maxTokens >= 1,
    'maxTokens',
    maxTokens,
    'a whole number of at least 1',
  );
  demand(
    isWhole(minTokens) && minTokens >= 0 && minTokens <= maxTokens,
    'minTokens',
    minTokens,
    'a whole number from 0 to maxTokens',
  );
}

function checkDistribution({ temperature, topP, topK, topLogprobs }: CompleteOptions): void {
  demand(
    temperature === 0 || (Number.isFinite(temperature) && temperature >= leastTemperature),
    'temperature',
    temperature,
    `0 (greedy) or a number of at least ${leastTemperature}`,
  );
  demand(topP > 0 && topP <= 1, 'topP', topP, 'a number above 0 and at most 1');
  demand(
    isWhole(topK) && (topK >= 1 || topK === -1),
    'topK',
    topK,
    'a whole number of at least 1, or -1 for all tokens',
  );
  demand(
    isWhole(topLogprobs) && topLogprobs >= 0 && topLogprobs <= maxTopLogprobs,
    'topLogprobs',
    topLogprobs,
    `0 to ${maxTopLogprobs}`,
  );
}

function checkTexts({ stop, grammar }: CompleteOptions, { hasTokenBytes }: SampleLimits): void {
  const needsBytes = 'none, because the engine was created without tokenBytes';
  demand(!stop.includes(''), 'stop', '', 'strings that are not empty');
  demand(stop.length === 0 || hasTokenBytes, 'stop', stop, needsBytes);
  demand(!grammar || hasTokenBytes, 'grammar', 'set', needsBytes);
}

/** Checks that a response can reach its minimum length, and can end once its grammar is complete. */
function checkStopTokens(
  { stop, stopTokenIds = [], minTokens, grammar }: CompleteOptions,
  { vocabSize }: SampleLimits,
): void {
  const known = new Set(stopTokenIds.filter((id) => id >= 0 && id < vocabSize));
  demand(
    minTokens === 0 || known.size < vocabSize,
    'stopTokenIds',
    stopTokenIds,
    'not all tokens of the vocabulary, because they are not sampled before minTokens',
  );
  demand(
    !grammar || stop.length > 0 || known.size > 0 || stopTokenIds.length === 0,
    'stopTokenIds',
    stopTokenIds,
    `an id from 0 to ${vocabSize - 1}, with which a response ends once its grammar is complete`,
  );
}

const isWhole = Number.isInteger;

/**
 * Checks that a prompt leaves room for a response.
 * @throws ModelError 400 when it does not
 */
export function assertRoom(
  promptLength: number,
  { maxModelLen }: Pick<SampleLimits, 'maxModelLen'>,
): void {
  if (promptLength < maxModelLen) return;
  throw new ModelError(
    `The prompt has ${promptLength} tokens and leaves no room for an answer: prompt and answer ` +
      `together have at most ${maxModelLen}. Shorten the prompt, or raise max_model_len if the ` +
      'model was made for more.',
    { status: 400, code: 'context_length_exceeded', details: { promptLength, maxModelLen } },
  );
}

function checkPrompt(prompt: Int32Array, limits: SampleLimits): void {
  const { vocabSize } = limits;
  assertRoom(prompt.length, limits);
  demand(prompt.length > 0, 'prompt', '[]', 'at least one token');
  const outside = prompt.findIndex((id) => id < 0 || id >= vocabSize);
  demand(
    outside < 0,
    `prompt[${outside}]`,
    prompt[outside],
    `a token id from 0 to ${vocabSize - 1}; prompt and model belong to different tokenizers`,
  );
}

function demand(holds: boolean, option: string, value: unknown, expected: string): void {
  if (holds) return;
  throw new ModelError(
    `Sampling option ${option} is ${typeof value === 'number' ? value : JSON.stringify(value)}; expected ${expected}.`,
    {
      status: 400,
      code: 'invalid_sampling_option',
      details: { option },
    },
  );
}
