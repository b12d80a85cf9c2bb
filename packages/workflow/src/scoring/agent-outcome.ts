/**
 * From the end of an agent's run to its score: text goes to the reward function, and what the model
 * did wrong is data.
 */
import { WorkflowError } from '@trinity-rft/core';
import { scoreResponse } from './score-response.js';
import type { WorkflowContext, WorkflowOutput } from '../definition/types.js';

/**
 * What came of an agent's run. A fault is an end that the model brought about by what it wrote;
 * `Fault` names the kinds there are.
 */
export type AgentOutcome<Result, Fault extends string = string> =
  | { readonly fault?: undefined; readonly result: Result }
  | { readonly fault: Fault; readonly error: Error; readonly result?: undefined };

/**
 * Scores what an agent answered with the task's reward function, whose parts become metrics.
 * @throws WorkflowError `REWARD_MISSING` when the task names none, RewardError when it fails
 */
export async function scoreAnswer(
  { task, rewardFn }: Pick<WorkflowContext, 'task' | 'rewardFn'>,
  text: string,
): Promise<WorkflowOutput> {
  if (rewardFn) {
    const { reward, parts } = await scoreResponse(rewardFn, task, text);
    return { reward, metrics: parts };
  }
  throw new WorkflowError(
    `Workflow "${task.workflow}" answered with text, and the task names no reward function. Set default_reward_fn_type, or return { reward }.`,
    { code: 'REWARD_MISSING' },
  );
}

/**
 * The score of a run that has ended: an answer's from the reward function (no answer counts as an
 * empty one), the agent's own where it knows the reward, `faultReward` for a fault. Metric
 * `model_fault`: 1 for a fault, else 0, so that its mean is their share.
 * @throws WorkflowError and RewardError as {@link scoreAnswer}
 */
export async function scoreOutcome(
  context: Pick<WorkflowContext, 'task' | 'rewardFn'>,
  { fault, result = '' }: AgentOutcome<string | undefined | WorkflowOutput>,
  faultReward: number,
): Promise<WorkflowOutput> {
  if (fault !== undefined)
    return { reward: faultReward, metrics: { model_fault: 1 }, info: { fault } };
  const output = typeof result === 'string' ? await scoreAnswer(context, result) : result;
  return { ...output, metrics: { model_fault: 0, ...output.metrics } };
}
