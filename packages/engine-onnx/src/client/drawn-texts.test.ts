import type { SampledSequence, SamplingOptions } from '@trinity-rft/core/engine';
import { beforeEach, expect, it } from 'vitest';
import { DrawnTexts } from './drawn-texts.js';

const prompt = Int32Array.of(1, 2);
const text = Int32Array.of(1, 2, 3, 4);
const sequence = (policyVersion: number): SampledSequence => ({
  tokens: Int32Array.of(3, 4),
  logprobs: Float32Array.of(-1, -1),
  stopReason: 'stop',
  policyVersion,
});
const sample = (drawn: DrawnTexts, version: number, options: Partial<SamplingOptions> = {}): void =>
  drawn.sampled(prompt, { maxTokens: 2, seed: 1, ...options }, [sequence(version)]);

let drawn: DrawnTexts;
beforeEach(() => {
  drawn = new DrawnTexts();
  drawn.published();
  drawn.adopted(5, true);
});

it('knows what was drawn with the training weights, at any temperature', () => {
  sample(drawn, 5, { temperature: 0.5, topLogprobs: 2 });
  expect(drawn.has(text, 5)).toBe(true);
  expect(drawn.has(text, 4)).toBe(false);
  expect(drawn.has(text.with(3, 5), 5)).toBe(false);
  expect(drawn.has(text.subarray(0, 3), 5)).toBe(false);
});

it.each<Partial<SamplingOptions>>([
  { topP: 0.9 },
  { topK: 2 },
  { minTokens: 1 },
  { grammar: { rules: [[[]]], controlTokenIds: [] } },
])('knows nothing that was drawn from another distribution: %o', (options) => {
  sample(drawn, 5, options);
  expect(drawn.has(text, 5)).toBe(false);
  // Nor of a text that was also drawn from the whole distribution.
  sample(drawn, 5);
  expect(drawn.has(text, 5)).toBe(false);
});

it('knows a limited number of texts of the same weights', () => {
  const answers = Array.from({ length: 2 ** 16 + 1 }, (_, i) => ({
    ...sequence(5),
    tokens: Int32Array.of(i),
  }));
  drawn.sampled(prompt, { maxTokens: 1, seed: 1 }, answers);
  expect(drawn.has(Int32Array.of(1, 2, 2 ** 16 - 1), 5)).toBe(true);
  expect(drawn.has(Int32Array.of(1, 2, 2 ** 16), 5)).toBe(false);
});

it.each<[string, () => void]>([
  ['the weights changed', () => drawn.trained()],
  ['other weights got the same version', () => drawn.adopted(5, false)],
  ['the sampler has another version', () => drawn.adopted(6, true)],
])('forgets everything once %s', (_, change) => {
  sample(drawn, 5);
  change();
  expect(drawn.has(text, 5)).toBe(false);
});

it('knows nothing of weights that were published before a step and adopted after it', () => {
  drawn.published();
  drawn.trained();
  drawn.adopted(6, true);
  sample(drawn, 6);
  expect(drawn.has(text, 6)).toBe(false);
});
