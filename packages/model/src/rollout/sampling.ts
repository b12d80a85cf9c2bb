/** Sampling settings of one call: what it asks for, within what the rollout allows. */
import { ModelError, type ChatOptions, type SamplingOptions } from '@trinity-rft/core';
import type { RolloutLimits, SamplingDefaults } from '../recording-model.js';

export type CallSampling = Pick<
  ChatOptions,
  'n' | 'temperature' | 'topP' | 'topK' | 'maxTokens' | 'minTokens' | 'stop' | 'topLogprobs'
>;

export interface SamplingContext {
  readonly defaults: SamplingDefaults;
  readonly limits: RolloutLimits;
  readonly promptLength: number;
  /** Of the sampler. */
  readonly maxModelLen: number;
  readonly stopTokenIds: readonly number[];
  readonly seed: number;
}

/**
 * @throws ModelError 400: `context_length_exceeded`, or `invalid_request` for numbers out of range
 */
export function resolveSampling(
  call: CallSampling,
  context: SamplingContext,
): SamplingOptions & { readonly temperature: number } {
  const { defaults, stopTokenIds, seed } = context;
  checkRanges(call);
  const maxTokens = Math.min(call.maxTokens ?? defaults.maxTokens ?? Infinity, roomFor(context));
  const minTokens = Math.min(call.minTokens ?? defaults.minTokens ?? 0, maxTokens);
  return {
    n: call.n ?? 1,
    temperature: call.temperature ?? defaults.temperature ?? 1,
    topP: call.topP ?? defaults.topP ?? 1,
    topK: call.topK ?? defaults.topK ?? -1,
    maxTokens,
    stopTokenIds,
    seed,
    ...(minTokens > 0 && { minTokens }),
    ...(call.stop && call.stop.length > 0 && { stop: call.stop }),
    ...(call.topLogprobs !== undefined &&
      call.topLogprobs > 0 && { topLogprobs: call.topLogprobs }),
  };
}

/** Response tokens the limits leave; at least 1. */
function roomFor({ limits, promptLength, maxModelLen }: SamplingContext): number {
  const { maxPromptTokens = Infinity, maxResponseTokens = Infinity } = limits;
  const whole = Math.min(limits.maxModelLen ?? Infinity, maxModelLen);
  if (promptLength > maxPromptTokens)
    throw tooLong(promptLength, `at most ${maxPromptTokens} are allowed`);
  if (promptLength >= whole)
    throw tooLong(promptLength, `prompt and response together may have ${whole}`);
  return Math.min(maxResponseTokens, whole - promptLength);
}

function tooLong(promptLength: number, bound: string): ModelError {
  return new ModelError(
    `The prompt has ${promptLength} tokens; ${bound}. Send fewer or shorter messages.`,
    {
      status: 400,
      code: 'context_length_exceeded',
      details: { param: 'messages', promptLength },
    },
  );
}

const ranges: readonly {
  readonly name: keyof CallSampling;
  readonly ok: (value: number) => boolean;
  readonly expected: string;
}[] = [
  {
    name: 'n',
    ok: (value) => Number.isInteger(value) && value >= 1,
    expected: 'an integer of at least 1',
  },
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
  {
    name: 'maxTokens',
    ok: (value) => Number.isInteger(value) && value >= 1,
    expected: 'an integer of at least 1',
  },
  {
    name: 'minTokens',
    ok: (value) => Number.isInteger(value) && value >= 0,
    expected: 'an integer of at least 0',
  },
  {
    name: 'topLogprobs',
    ok: (value) => Number.isInteger(value) && value >= 0,
    expected: 'an integer of at least 0',
  },
];

function checkRanges(call: CallSampling): void {
  for (const { name, ok, expected } of ranges) {
    const value = call[name];
    if (value === undefined || ok(value as number)) continue;
    throw new ModelError(`${name} is ${JSON.stringify(value)}. Expected ${expected}.`, {
      status: 400,
      code: 'invalid_request',
      details: { param: name },
    });
  }
}
