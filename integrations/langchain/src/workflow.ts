/** An agent of LangChain, or a graph of LangGraph, as a workflow. */
import type { ChatOpenAI } from '@langchain/openai';
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
import type { LangchainModelOptions } from './model.js';
import { outcomeOf } from './outcome.js';
import { modelOf, runConfig, type RunConfig } from './redirect.js';

/** The context of a workflow, and what the agent needs. */
export interface LangchainContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** The model of this run, for agents that are created per run. */
  readonly chatModel: ChatOpenAI;
  /** For `invoke` and `stream`: signal, thread, and the model for {@link redirectModel}. */
  readonly config: RunConfig;
}

export interface LangchainWorkflowOptions<Args = AnyArgs> extends LangchainModelOptions {
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
  readonly run: (
    context: LangchainContext,
    args: Args,
  ) => Promise<string | undefined | WorkflowOutput>;
}

/**
 * The metric `model_fault` is 1 for runs that end with a `ModelFault`, else 0.
 * @throws ConfigError for an invalid name
 */
export function langchainWorkflow<Args = AnyArgs>({
  name,
  args: schema,
  faultReward = 0,
  run,
  ...options
}: LangchainWorkflowOptions<Args>): WorkflowDefinition {
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (context, args) => {
      const { task, model, runtime, signal } = context;
      const config = runConfig({ endpoint: model.endpoint(), runtime, signal, ...options });
      const outcome = await outcomeOf(
        run(
          { ...context, question: requirePrompt(task), chatModel: modelOf(config), config },
          args,
        ),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
