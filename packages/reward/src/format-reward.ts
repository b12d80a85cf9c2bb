/** `format_reward`: does the response keep to the layout of thought and answer? */
import { choiceArg, numberArg, readArgs, type RewardFn } from '@trinity-rft/core';
import { hasLooseLayout, hasStrictLayout } from './layout.js';

const spec = { format_score_coef: numberArg(0.1, { min: 0 }), layout: choiceArg(['strict', 'loose'], 'strict') };

/** Part `format_score`: plus or minus `format_score_coef` (default 0.1), by the `layout` (default `strict`). Needs no truth. */
export function formatReward(args: Readonly<Record<string, unknown>>): RewardFn {
  const { format_score_coef: coef, layout } = readArgs('reward function "format_reward"', spec, args);
  const fits = layout === 'strict' ? hasStrictLayout : hasLooseLayout;
  return ({ response }) => ({ format_score: fits(response) ? coef : 0 - coef });
}
