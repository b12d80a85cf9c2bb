/**
 * Judges for `selectModel` that prefer the fastest model, or the one that uses the fewest tokens.
 */
import type { Metrics } from '@trinity-rft/core';
import { InvalidOutputError, type JudgeOutput } from './outputs.js';

interface Measured {
  readonly response: { readonly metrics: Metrics };
}

/** Returns the negated duration of the row, in seconds, as the reward. */
export function avgTimeJudge({ response }: Measured): JudgeOutput {
  return { reward: -measure(response, 'execution_time') };
}

/**
 * Returns the negated total number of prompt and response tokens, over all model calls of the row,
 * as the reward.
 */
export function avgTokenConsumptionJudge({ response }: Measured): JudgeOutput {
  return { reward: -measure(response, 'total_tokens') };
}

function measure({ metrics }: Measured['response'], key: string): number {
  const value = metrics?.[key];
  if (value !== undefined) return value;
  throw new InvalidOutputError(
    `The response has no metric "${key}". Use this judge with selectModel, which measures it in the calls that the agent makes with model.chat or the endpoint's fetch. Settings without fetch, such as agentscope(), mastra() and env(), and responses without "usage", such as streams, cannot be measured behind a service.`,
    { code: 'METRIC_MISSING', details: { field: key } },
  );
}
