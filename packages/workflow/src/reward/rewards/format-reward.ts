/** `format_reward`: rewards a response that consists of a thought and an answer. */
import { choiceArg } from '@trinity-rft/core';
import { wholeResponse } from './shared/inputs.js';
import { rewardKind } from './shared/reward-kind.js';
import { hasLooseLayout, hasStrictLayout } from './shared/layout.js';
import { formatScoreCoef, signed } from './shared/arguments.js';

/**
 * Checks the layout with {@link hasStrictLayout} or {@link hasLooseLayout}. Needs no reference
 * answer. Source: `format_reward` of Trinity-RFT 0.5.2.
 */
export const formatReward = rewardKind('format_reward', {
  summary: 'Does the response keep to the layout of thought and answer?',
  parts: { format_score: '0.1 when it does, else -0.1' },
  args: {
    layout: choiceArg(
      ['strict', 'loose'],
      'strict',
      'strict: each tag on a separate line, from the very start; loose: as math_reward.',
    ),
    format_score_coef: formatScoreCoef,
  },
  create: ({ format_score_coef: coef, layout }) => {
    const fits = layout === 'strict' ? hasStrictLayout : hasLooseLayout;
    return (input) => ({ format_score: signed(fits(wholeResponse(input)), coef) });
  },
});
