/** Creates a workflow around an agent of any framework, for all adapters. */
import type { ArgsSchema } from '@trinity-rft/core';
import { defineWorkflow, type AnyArgs } from './definition/define.js';
import { requirePrompt } from './definition/require-prompt.js';
import type { WorkflowContext, WorkflowDefinition, WorkflowOutput } from './definition/types.js';
import { scoreOutcome, type AgentOutcome } from './scoring/agent-outcome.js';

/** Context of a workflow, with the question of its task. */
export interface AgentContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
}

/**
 * Options of an adapter's workflow. `Context` is the context that the adapter passes to the agent.
 */
export interface AgentWorkflowOptions<Context, Args = AnyArgs> {
  /** Name of the workflow, for `default_workflow_type` in configurations. */
  readonly name: string;
  /**
   * Schema of `workflow_args`, in zod or another library that supports Standard Schema.
   * @default no check of the arguments
   */
  readonly args?: ArgsSchema<Args>;
  /** Reward of rollouts that end with a mistake of the model. @default 0 */
  readonly faultReward?: number;
  /**
   * Executes the agent. Returns an answer, which the task's reward function scores, or the score
   * itself. Undefined is treated as an empty answer.
   */
  readonly run: (context: Context, args: Args) => Promise<string | undefined | WorkflowOutput>;
}

/**
 * Creates a workflow. Its metric `model_fault` is 1 for rollouts that end with a mistake of the
 * model, else 0.
 * @param play executes the agent, by calling `runAgent` with the fields that the adapter adds to
 * the context
 * @throws ConfigError for an invalid name
 */
export function agentWorkflow<Context extends AgentContext, Args>(
  { name, args: schema, faultReward = 0, run }: AgentWorkflowOptions<Context, Args>,
  play: (
    context: AgentContext,
    runAgent: (
      own: Omit<Context, keyof AgentContext>,
    ) => Promise<string | undefined | WorkflowOutput>,
  ) => Promise<AgentOutcome<string | undefined | WorkflowOutput>>,
): WorkflowDefinition {
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (given, args) => {
      const context = { ...given, question: requirePrompt(given.task) };
      const outcome = await play(context, (own) => run({ ...context, ...own } as Context, args));
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
