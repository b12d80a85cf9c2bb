/** An agent of the Agents SDK as a workflow. */
import type { Runner } from '@openai/agents';
import {
  defineWorkflow,
  requirePrompt,
  scoreOutcome,
  type AnyArgs,
  type ArgsSchema,
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

export interface OpenAIAgentsWorkflowOptions<Args = AnyArgs> {
  /** The value of `default_workflow_type`. */
  readonly name: string;
  /**
   * The schema of `workflow_args`, in zod or another library of Standard Schema.
   * @default anything goes
   */
  readonly args?: ArgsSchema<Args>;
  /** @default "responses" */
  readonly api?: OpenAIAgentsApi;
  /** The reward of runs that end with a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent with `runner` and `signal`. Returns its answer, which the task's reward function
   * scores (undefined counts as empty text), or the score itself.
   */
  readonly run: (
    context: OpenAIAgentsContext,
    args: Args,
  ) => Promise<string | undefined | WorkflowOutput>;
}

/**
 * The metric `model_fault` is 1 for runs that end with a `ModelFault`, else 0.
 * @throws ConfigError for an invalid name
 */
export function openaiAgentsWorkflow<Args = AnyArgs>({
  name,
  args: schema,
  api,
  faultReward = 0,
  run,
}: OpenAIAgentsWorkflowOptions<Args>): WorkflowDefinition {
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (context, args) => {
      const { task, model } = context;
      const runner = openaiAgentsRunner(model.endpoint(), { api });
      const outcome = await outcomeOf(
        run({ ...context, question: requirePrompt(task), runner }, args),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
