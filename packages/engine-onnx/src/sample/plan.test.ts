import { ModelError } from '@trinity-rft/core';
import type { SamplingOptions } from '@trinity-rft/core/engine';
import { describe, expect, it } from 'vitest';

import { planSample } from './plan.js';

const limits = { vocabSize: 10, maxModelLen: 8, hasTokenBytes: false };
const prompt = Int32Array.of(1, 2, 3);
const options: SamplingOptions = { maxTokens: 4, seed: 1 };

describe('planSample', () => {
  it('draws inside the graph when the whole distribution counts, else in TypeScript', () => {
    const variant = (extra: Partial<SamplingOptions>): string =>
      planSample(prompt, { ...options, ...extra }, limits).variant;
    expect([{}, { temperature: 0.5, stopTokenIds: [1], n: 4 }].map(variant)).toEqual([
      'sampled',
      'sampled',
    ]);
    const filtered = [
      { temperature: 0 },
      { topP: 0.9 },
      { topK: 5 },
      { minTokens: 1 },
      { topLogprobs: 1 },
    ];
    expect(filtered.map(variant)).toEqual(filtered.map(() => 'logprobs'));
  });

  it('cuts maxTokens to the room that the prompt leaves', () => {
    expect(planSample(prompt, { ...options, maxTokens: 100 }, limits).maxTokens).toBe(5);
  });

  it('rejects a prompt that leaves no room as OpenAI does', () => {
    const plan = (): unknown => planSample(new Int32Array(8), options, limits);
    expect(plan).toThrow(
      expect.objectContaining({ name: 'ModelError', status: 400, code: 'context_length_exceeded' }),
    );
    expect(plan).toThrow(
      'The prompt has 8 tokens and leaves no room for an answer: prompt and answer together have at most 8',
    );
  });

  it.for([
    [{ n: 0 }, 'n is 0'],
    [{ n: 1e10 }, 'n is 10000000000; expected a whole number from 1 to 65536'],
    [{ temperature: -1 }, 'temperature is -1'],
    [{ temperature: 1e-40 }, 'temperature is 1e-40'],
    [{ temperature: NaN }, 'temperature is NaN'],
    [{ topP: 0 }, 'topP is 0'],
    [{ topP: 1.1 }, 'topP is 1.1'],
    [{ topK: 0 }, 'topK is 0'],
    [{ maxTokens: 0 }, 'maxTokens is 0'],
    [{ minTokens: 5 }, 'minTokens is 5'],
    [{ topLogprobs: 101 }, 'topLogprobs is 101'],
    [
      { stop: ['x'] },
      'stop is ["x"]; expected none, because the engine was created without tokenBytes',
    ],
    [{ stop: [''] }, 'stop is ""'],
  ] as const)('rejects %j with status 400', ([extra, message]) => {
    const plan = (): unknown => planSample(prompt, { ...options, ...extra }, limits);
    expect(plan).toThrow(ModelError);
    expect(plan).toThrow(message);
  });

  it.for([
    [{ minTokens: 1, stopTokenIds: Array.from({ length: 10 }, (_, id) => id) }, 'not all tokens'],
    [{ grammar: { rules: [[[]]], controlTokenIds: [] }, stopTokenIds: [10] }, 'an id from 0 to 9'],
  ])(
    'rejects stop tokens that leave a response no end or no next token: %j',
    ([extra, message]) => {
      const withBytes = { ...limits, hasTokenBytes: true };
      const plan = (): unknown =>
        planSample(prompt, { ...options, ...(extra as object) }, withBytes);
      expect(plan).toThrow(`expected ${message as string}`);
    },
  );

  it('accepts a grammar without a known stop token if a stop string may end the response', () => {
    const grammar = { rules: [[[]]], controlTokenIds: [] };
    const given = { ...options, grammar, stop: ['.'], stopTokenIds: [10] };
    expect(planSample(prompt, given, { ...limits, hasTokenBytes: true }).stops).toHaveLength(1);
  });

  it.for([
    [Int32Array.of(), 'prompt is "[]"; expected at least one token'],
    [Int32Array.of(1, 10), 'prompt[1] is 10; expected a token id from 0 to 9'],
    [Int32Array.of(-1, 1), 'prompt[0] is -1'],
  ] as const)('rejects the prompt %j', ([bad, message]) => {
    expect(() => planSample(bad, options, limits)).toThrow(message);
  });
});
