import type { ChatFormat } from '@trinity-rft/chat';
import type { Clock } from '@trinity-rft/core';
import type { Sampler, SamplingOptions, TokenRow } from '@trinity-rft/core/engine';
import { expect, it } from 'vitest';
import { recordTurns } from './turns.js';

const format = {
  tokenizer: { decode: (tokens: Iterable<number>) => [...tokens].join(' ') },
  readTurn: () => ({ toolCalls: [] }),
} as unknown as ChatFormat;
const clock = { now: () => 7 } as Clock;
const sampler = {
  maxModelLen: 9,
  adopt: async () => undefined,
  policyVersion: 3,
  sample: async (_prompt, _options, _signal, onTokens) => {
    onTokens?.(0, [4]);
    return [
      {
        tokens: Int32Array.of(4),
        logprobs: Float32Array.of(0),
        stopReason: 'stop',
        policyVersion: 3,
      },
    ];
  },
} as Sampler;

it('passes on the listener for tokens, and the scores of texts', async () => {
  const score = async ({ tokens }: TokenRow) => new Float32Array(tokens.length);
  const recorder = recordTurns({ ...sampler, score }, format, clock);
  const heard: unknown[] = [];
  await recorder.sampler.sample(
    Int32Array.of(1, 2),
    {} as SamplingOptions,
    undefined,
    (...tokens) => void heard.push(tokens),
  );
  expect(heard).toEqual([[0, [4]]]);
  expect(recorder.turns()).toMatchObject([{ prompt: '1 2', answers: [{ text: '4' }] }]);
  const scores = await recorder.sampler.score?.({ tokens: Int32Array.of(1, 2) } as TokenRow);
  expect(scores).toHaveLength(2);
  expect(recordTurns(sampler, format, clock).sampler.score).toBeUndefined();
});
