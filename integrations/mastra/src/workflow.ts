/** A Mastra agent as a workflow. */
import { taskPrompt } from '@trinity-rft/core';
import {
  defineWorkflow,
  scoreOutcome,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
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
  /**
   * Runs the agent: its answer as text goes to the task's reward function; whoever knows the reward
   * already returns that.
   */
  readonly run: (context: MastraContext) => Promise<string | WorkflowOutput>;
}

/**
 * Its metric `model_fault` is the share of runs that the model ended by what it wrote.
 * @throws ConfigError when the name cannot be used
 */
export function mastraWorkflow({
  name,
  faultReward = 0,
  run,
  ...modelOptions
}: MastraWorkflowOptions): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (context) => {
      const options = mastraRunOptions(context, modelOptions);
      const outcome = await outcomeOf(
        run({ ...context, question: taskPrompt(context.task) ?? '', options }),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
