/** A Mastra agent as a workflow. */
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
import type { MastraModelOptions } from './model.js';
import { outcomeOf } from './outcome.js';
import { mastraRunOptions, type MastraRunOptions } from './run-options.js';

/** The context of a workflow, and what the agent needs. */
export interface MastraContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** Options for every call of the agent in this run. */
  readonly options: MastraRunOptions;
}

export interface MastraWorkflowOptions<Args = AnyArgs> extends MastraModelOptions {
  /** The value of `default_workflow_type`. */
  readonly name: string;
  /**
   * The schema of `workflow_args`, in zod or another library of Standard Schema.
   * @default anything goes
   */
  readonly args?: ArgsSchema<Args>;
  /** The reward of runs that end with a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent. Returns its answer, which the task's reward function scores, or the score
   * itself.
   */
  readonly run: (context: MastraContext, args: Args) => Promise<string | WorkflowOutput>;
}

/**
 * The metric `model_fault` is 1 for runs that end with a `ModelFault`, else 0.
 * @throws ConfigError for an invalid name
 */
export function mastraWorkflow<Args = AnyArgs>({
  name,
  args: schema,
  faultReward = 0,
  run,
  ...modelOptions
}: MastraWorkflowOptions<Args>): WorkflowDefinition {
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (context, args) => {
      const options = mastraRunOptions(context, modelOptions);
      const outcome = await outcomeOf(
        run({ ...context, question: requirePrompt(context.task), options }, args),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
