/** A Mastra agent as a workflow. */
import { taskPrompt, WorkflowError } from '@trinity-rft/core';
import { defineWorkflow, scoreResponse, type WorkflowContext, type WorkflowDefinition, type WorkflowOutput } from '@trinity-rft/workflow';
import type { MastraModelOptions } from './model.js';
import { outcomeOf } from './outcome.js';
import { mastraRunOptions, type MastraRunOptions } from './run-options.js';

/** What the agent gets, besides everything a workflow has. */
export interface MastraContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** For every call of the agent in this run. */
  readonly options: MastraRunOptions;
}

export interface MastraWorkflowOptions extends MastraModelOptions {
  /** What `default_workflow_type` says. */
  readonly name: string;
  /** Reward of runs that end in a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /** Runs the agent: its answer as text goes to the task's reward function; whoever knows the reward already returns that. */
  readonly run: (context: MastraContext) => Promise<string | WorkflowOutput>;
}

/** Its metric `model_fault` is the share of runs that the model ended by what it wrote. @throws ConfigError when the name cannot be used */
export function mastraWorkflow({ name, faultReward = 0, run, ...modelOptions }: MastraWorkflowOptions): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (context) => {
      const options = mastraRunOptions(context, modelOptions);
      const { fault, result } = await outcomeOf(run({ ...context, question: taskPrompt(context.task) ?? '', options }));
      if (fault) return { reward: faultReward, metrics: { model_fault: 1 }, info: { fault } };
      const output = typeof result === 'string' ? await score(name, context, result) : result;
      return { ...output, metrics: { model_fault: 0, ...output.metrics } };
    },
  });
}

async function score(name: string, { task, rewardFn }: WorkflowContext, response: string): Promise<WorkflowOutput> {
  if (rewardFn) return { reward: (await scoreResponse(rewardFn, task, response)).reward };
  throw new WorkflowError(
    `Workflow "${name}" answered with text, and the task names no reward function. Set default_reward_fn_type, or return { reward }.`,
    { code: 'NO_REWARD' },
  );
}
