import { createExperience, spansOf } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createComparison } from './compare.js';

const experience = createExperience({
  tokens: [1, 2, 3, 4],
  promptLength: 1,
  logprobs: [-1, -2, -3],
  policyVersion: 1,
});
const record = { experience, spans: spansOf(experience) };

describe('createComparison', () => {
  it('finds the token that differs most', () => {
    const comparison = createComparison();
    comparison.add(record, Float32Array.of(-1, -2.5, -3.25));
    expect(comparison.result()).toMatchObject({
      tokens: 3,
      largest: 0.5,
      mean: 0.25,
      worst: { token: 1, recorded: -2, recomputed: -2.5 },
    });
  });

  it.each([Number.NaN, -Infinity])(
    'lets no token pass whose recomputed number is %s, wherever it stands',
    (bad) => {
      const comparison = createComparison();
      comparison.add(record, Float32Array.of(-1, bad, -3));
      comparison.add(record, Float32Array.of(-1, -2, -3));
      expect(comparison.result()).toMatchObject({
        largest: Infinity,
        mean: Infinity,
        worst: { token: 1 },
      });
    },
  );

  it('counts tokens that cannot be checked', () => {
    const comparison = createComparison();
    comparison.add(record);
    expect(comparison.result()).toEqual({ tokens: 3, largest: 0, mean: 0, worst: undefined });
  });
});
