/**
 * Scores the result of an agent by passing its text to the reward function. Mistakes made by the
 * model are returned as data, not thrown.
 */
import { WorkflowError } from '@trinity-rft/core';
import { returnedBy } from '@trinity-rft/core/support';
import { scoreResponse } from './score-response.js';
import type { WorkflowContext, WorkflowOutput } from '../definition/types.js';

/** Result of an agent, or the kind of fault if the output of the model made the agent fail. */
export type AgentOutcome<Result, Fault extends string = string> =
  | { readonly fault?: undefined; readonly result: Result }
  | { readonly fault: Fault; readonly error: Error; readonly result?: undefined };

/**
 * Awaits the execution of an agent. Returns a mistake of the model as a fault, which can have a
 * reward and be trained on. In contrast, a workflow that throws is retried, and its recorded calls
 * are lost. Rejects with all other errors.
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
 * Scores an agent's answer with the task's reward function, whose parts become metrics.
 * @throws WorkflowError `REWARD_MISSING` if the task names no reward function; RewardError if the
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
 * Scores the outcome of an agent. The reward function scores a string; if there is no answer, it
 * scores an empty string. A number, a boolean or a {@link WorkflowOutput} is the score itself. A
 * fault gets `faultReward`. The metric `model_fault` is 1 for a fault, else 0.
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
