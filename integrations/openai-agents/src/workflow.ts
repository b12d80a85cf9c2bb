/** An agent of the Agents SDK as a workflow. */
import type { Runner } from '@openai/agents';
import {
  defineWorkflow,
  requirePrompt,
  scoreOutcome,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import type { OpenAIAgentsApi } from './model.js';
import { outcomeOf } from './outcome.js';
import { openaiAgentsRunner } from './runner.js';

/** The context of a workflow, and what the agent needs. */
export interface OpenAIAgentsContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** The runner of this run. */
  readonly runner: Runner;
}

export interface OpenAIAgentsWorkflowOptions {
  /** The value of `default_workflow_type`. */
  readonly name: string;
  /** @default "responses" */
  readonly api?: OpenAIAgentsApi;
  /** The reward of runs that end with a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent with `runner` and `signal`. Returns its answer, which the task's reward function
   * scores (undefined counts as empty text), or the score itself.
   */
  readonly run: (context: OpenAIAgentsContext) => Promise<string | undefined | WorkflowOutput>;
}

/**
 * The metric `model_fault` is 1 for runs that end with a `ModelFault`, else 0.
 * @throws ConfigError for an invalid name
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
      const runner = openaiAgentsRunner(model.endpoint(), { api });
      const outcome = await outcomeOf(run({ ...context, question: requirePrompt(task), runner }));
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
