/** `rlcr_reward`: rewards correct answers with a calibrated confidence. */
import type { Arg } from '@trinity-rft/core';
import { readConfidence, readRlcrLayout } from './shared/confidence.js';
import { rewardKind } from './shared/reward-kind.js';
import { requireTruth, wholeResponse } from './shared/inputs.js';

const standardWeights = {
  format: 0.5,
  accuracy: 0.5,
  brier: 0.5,
  mean_confidence: 1e-5,
  confidence_one_or_zero: 1e-5,
};
type Weights = Readonly<Record<keyof typeof standardWeights, number>>;

const weightsArg: Arg<Partial<Weights>> = {
  fallback: standardWeights,
  expected: `numbers by name, of ${Object.keys(standardWeights).join(', ')}`,
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(
      ([name, weight]) => Object.hasOwn(standardWeights, name) && Number.isFinite(weight),
    ),
  help: 'Weight of each part; those that are not given keep their defaults.',
};

/**
 * Weighted sum of five parts. `format` is 1 for the correct layout. `accuracy` is 1 for a correct
 * answer, and `brier` is 1 - (accuracy - confidence)^2; both are 0 if the layout is wrong.
 * `mean_confidence` is the confidence. `confidence_one_or_zero` is 1 for a confidence below 0.01 or
 * above 0.99. Source: RLCR, arXiv:2507.16806, with the weights of Trinity-RFT's `rlcr_reward`
 * (2026).
 */
export const rlcrReward = rewardKind('rlcr_reward', {
  summary:
    'Right answers with calibrated confidence: thought, answer, analysis and confidence, scored by the Brier score.',
  parts: {
    format:
      '0.5 for <think>, <answer>, <analysis> and <confidence>, in this order at the end, else 0',
    accuracy: '0.5 when the answer is the expected one, else 0',
    brier: '0.5 (1 - (right - confidence)^2), 0 without the layout',
    mean_confidence: '1e-5 times the confidence: a metric more than a reward',
    confidence_one_or_zero: '1e-5 for a confidence below 0.01 or above 0.99',
  },
  args: { weights: weightsArg },
  create: ({ weights: given }, isRight) => {
    const weights: Weights = { ...standardWeights, ...given };
    return async (input) => {
      requireTruth('rlcr_reward', input);
      const response = wholeResponse(input);
      const layout = readRlcrLayout(response);
      const right =
        layout && (await isRight('answer', { ...input, response: layout.answer })) ? 1 : 0;
      const confidence = readConfidence(response);
      const isExtreme = confidence !== undefined && (confidence < 0.01 || confidence > 0.99);
      return {
        format: layout ? weights.format : 0,
        accuracy: weights.accuracy * right,
        brier: layout ? weights.brier * (1 - (right - layout.confidence) ** 2) : 0,
        mean_confidence: weights.mean_confidence * (confidence ?? 0),
        confidence_one_or_zero: isExtreme ? weights.confidence_one_or_zero : 0,
      };
    };
  },
});
