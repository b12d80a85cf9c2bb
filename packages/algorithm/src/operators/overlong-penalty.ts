/** Lowers the reward of responses that come close to the length limit. */
import { ConfigError, numberArg, gatherMetrics, responseLength } from '@trinity-rft/core';
import { withChangedReward } from '../advantages/shared/groups.js';
import { definePart, type OperatorPart } from '../parts/part.js';

/**
 * Lowers rewards by the formula in `doc`. Its symbols are n = response tokens, L =
 * `maxResponseLength`, c = the larger of `cacheLength` and `cacheShare` L, and f = `penaltyFactor`.
 * Metrics: `overlong_penalty/{mean,max,min}`.
 * @throws ConfigError if L is missing or not above c; RewardError for an experience without a
 * finite reward
 */
export const overlongPenalty: OperatorPart = definePart({
  args: {
    maxResponseLength: {
      ...numberArg(
        undefined,
        { above: 0 },
        'Response tokens from which on the whole penalty is due; must be given.',
      ),
      form: { type: 'number', above: 0, word: 'max_response_tokens' },
    },
    cacheLength: numberArg(0, { min: 0 }, 'Tokens before that over which the penalty grows.'),
    cacheShare: numberArg(
      0,
      { min: 0, max: 1 },
      'The same as a share of max_response_length; the larger of both counts.',
    ),
    penaltyFactor: numberArg(1, { min: 0 }, 'The whole penalty.'),
  },
  doc: {
    summary:
      'Soft punishment of responses near the length limit, for rewards of any workflow. Each call is judged by itself: where runs are compared, only the penalty of the last call counts; gigpo adds up those of all calls with info.step_reward.',
    formula: 'R += 0 for n < L - c; f (L - c - n) / c up to L; -f above L',
    source: {
      title: 'DAPO: An Open-Source LLM Reinforcement Learning System at Scale, section 3.4',
      url: 'https://arxiv.org/abs/2503.14476',
    },
  },
  create: ({ maxResponseLength: limit, cacheLength, cacheShare, penaltyFactor: factor }) => {
    const cache = Math.max(cacheLength, cacheShare * (limit ?? 0));
    if (limit === undefined || limit <= cache) {
      throw new ConfigError(
        `The argument "maxResponseLength" of operator "overlong_penalty" is ${limit ?? 'not set'}; expected a number > "cacheLength" (${cache}).`,
        { code: 'ARGUMENT_INVALID' },
      );
    }
    return (experiences) => {
      const penalties = experiences.map(
        (experience) => overlong(responseLength(experience), limit, cache) * factor,
      );
      const out = experiences.map((experience, i) =>
        withChangedReward(experience, (reward) => reward + penalties[i]!),
      );
      return {
        experiences: out,
        metrics: gatherMetrics(
          penalties.map((penalty) => ({ overlong_penalty: penalty })),
          '',
        ),
      };
    };
  },
});

/** Returns the penalty before the factor, from -1 to 0. */
function overlong(length: number, limit: number, cache: number): number {
  if (length > limit) return -1;
  const start = limit - cache;
  return length <= start ? 0 : (start - length) / cache;
}
