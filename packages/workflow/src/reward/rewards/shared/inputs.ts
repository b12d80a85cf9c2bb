/** Reads fields from the input of reward functions, and checks them. */
import { type RewardInput, RewardError } from '@trinity-rft/core';

/**
 * Returns the reference answer.
 * @throws RewardError if the task has no reference answer, because the data is wrong then, not the
 * response
 */
export function requireTruth(owner: string, { truth, rawTask }: RewardInput): string {
  // Programs that call reward functions directly may pass numbers and objects instead of strings.
  const given: unknown = truth;
  if (typeof given === 'string') return given;
  if (typeof given === 'bigint') return String(given);
  if (given !== undefined && given !== null) return JSON.stringify(given);
  const columns = Object.keys(rawTask).join(', ') || 'none';
  throw new RewardError(
    `The task has no expected answer, which ${owner} needs; the columns of its row are ${columns}. ` +
      'Name the right one in format.response_key of the task set.',
    { code: 'REWARD_TRUTH_MISSING', details: { owner } },
  );
}

/**
 * Returns the number of tokens of the response.
 * @throws RewardError if the workflow does not report this number
 */
export function requireTokens(owner: string, { responseTokens }: RewardInput): number {
  if (responseTokens !== undefined) return responseTokens;
  throw new RewardError(
    `${owner} needs the number of response tokens, which the workflow does not report. Use a ` +
      'workflow with one answer (simple_workflow, math_workflow, math_boxed_workflow), or pass ' +
      'the number to scoreResponse.',
    { code: 'REWARD_TOKENS_MISSING', details: { owner } },
  );
}

/**
 * Returns the response with its reasoning, which a reasoning parser may have separated from the
 * text.
 */
export function wholeResponse({
  response,
  reasoning,
}: Pick<RewardInput, 'response' | 'reasoning'>): string {
  return reasoning === undefined ? response : `<think>\n${reasoning}\n</think>\n${response}`;
}
