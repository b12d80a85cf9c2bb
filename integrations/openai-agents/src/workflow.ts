/** An agent of the Agents SDK as a workflow. */
import type { Runner } from '@openai/agents';
import { taskPrompt } from '@trinity-rft/core';
import {
  defineWorkflow,
  scoreOutcome,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import type { OpenAIAgentsApi } from './model.js';
import { outcomeOf } from './outcome.js';
import { openaiAgentsRunner } from './runner.js';

/** What the agent gets, besides everything a workflow has. */
export interface OpenAIAgentsContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** Of this run alone. */
  readonly runner: Runner;
}

export interface OpenAIAgentsWorkflowOptions {
  /** What `default_workflow_type` says. */
  readonly name: string;
  /** @default "responses" */
  readonly api?: OpenAIAgentsApi;
  /** Reward of runs that end in a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent with `runner` and `signal`: its answer as text goes to the task's reward
   * function; whoever knows the reward already returns that. No answer counts as an empty one.
   */
  readonly run: (context: OpenAIAgentsContext) => Promise<string | undefined | WorkflowOutput>;
}

/**
 * Its metric `model_fault` is the share of runs that the model ended by what it wrote.
 * @throws ConfigError when the name cannot be used
 */
export function openaiAgentsWorkflow({
  name,
  api,
  faultReward = 0,
  run,
}: OpenAIAgentsWorkflowOptions): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (context) => {
      const { task, model } = context;
      const runner = openaiAgentsRunner(model.endpoint(), api ? { api } : {});
      const outcome = await outcomeOf(
        run({ ...context, question: taskPrompt(task) ?? '', runner }),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
