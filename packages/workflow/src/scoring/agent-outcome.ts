/**
 * Scores what an agent returns, by calling the task's reward function. Failures that the model has
 * caused are returned as data, not thrown.
 */
import { WorkflowError } from '@trinity-rft/core';
import { returnedBy } from '@trinity-rft/core/support';
import { scoreResponse } from './score-response.js';
import type { WorkflowContext, WorkflowOutput } from '../definition/types.js';

/** Result of an agent, or the kind of fault if the model's output made the agent fail. */
export type AgentOutcome<Result, Fault extends string = string> =
  | { readonly fault?: undefined; readonly result: Result }
  | { readonly fault: Fault; readonly error: Error; readonly result?: undefined };

/**
 * Waits for an agent to finish. If the model's output made it fail, returns the kind of fault, so
 * that the rollout gets a reward and can be trained on. (If a workflow throws instead, it is
 * retried, and its recorded calls are lost.) Rejects with all other errors.
 */
export async function agentOutcome<Result, Fault extends string>(
  run: Promise<Result>,
  faultOf: (error: Error) => Fault | undefined,
): Promise<AgentOutcome<Result, Fault>> {
  try {
    return { result: await run };
  } catch (error) {
    const fault = error instanceof Error ? faultOf(error) : undefined;
    if (fault === undefined) throw error;
    return { fault, error: error as Error };
  }
}

/**
 * Scores an agent's answer with the task's reward function. The parts of the reward become metrics.
 * @throws WorkflowError `REWARD_MISSING` if the task has no reward function; RewardError if the
 * reward function fails
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
    `Workflow "${task.workflow}" returned text, but the task has no reward function to score it. ` +
      'Set default_reward_fn_type, or return { reward }.',
    { code: 'REWARD_MISSING' },
  );
}

/**
 * Scores the outcome of an agent. If it is a string, the reward function scores it; if there is no
 * answer, the reward function scores an empty string. A number, a boolean or a {@link
 * WorkflowOutput} already is the score. A fault gets the reward `faultReward`. The metric
 * `model_fault` is 1 for a fault, else 0.
 * @throws WorkflowError and RewardError like {@link scoreAnswer}
 */
export async function scoreOutcome(
  context: Pick<WorkflowContext, 'task' | 'rewardFn'>,
  { fault, result = '' }: AgentOutcome<string | undefined | WorkflowOutput | number | boolean>,
  faultReward: number,
): Promise<WorkflowOutput> {
  if (fault !== undefined)
    return { reward: faultReward, metrics: { model_fault: 1 }, info: { fault } };
  const output = typeof result === 'string' ? await scoreAnswer(context, result) : result;
  const returned = returnedBy(
    `The agent of workflow "${context.task.workflow}"`,
    (message) => new WorkflowError(message, { code: 'WORKFLOW_RESULT' }),
  );
  if (typeof output === 'number' || typeof output === 'boolean')
    return { reward: returned.reward(output), metrics: { model_fault: 0 } };
  const form = 'its answer as text, a number, or { reward, metrics, info }';
  const { reward, metrics, info } = returned.fields(output, ['reward', 'metrics', 'info'], form);
  if (reward === undefined) throw returned.refuse(output, form);
  return {
    reward: returned.reward(reward, ' as reward'),
    metrics: { model_fault: 0, ...returned.metrics(metrics) },
    ...(info !== undefined && { info: returned.info(info) }),
  };
}
