/** Creates a workflow from an agent of any framework. The adapters for the frameworks use it. */
import type { ArgsSchema } from '@trinity-rft/core';
import { defineWorkflow, type AnyArgs } from './definition/define.js';
import { requirePrompt } from './definition/require-prompt.js';
import type { WorkflowContext, WorkflowDefinition, WorkflowOutput } from './definition/types.js';
import { scoreOutcome, type AgentOutcome } from './scoring/agent-outcome.js';

/** Context of a workflow, with the prompt of its task as text. */
export interface AgentContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
}

/**
 * Options of a workflow that runs an agent. `Context` is the context that the framework's adapter
 * passes to the agent.
 */
export interface AgentWorkflowOptions<Context, Args = AnyArgs> {
  /** Name of the workflow, for `default_workflow_type` in configurations. */
  readonly name: string;
  /**
   * Schema of `workflow_args`, in zod or another library that supports Standard Schema.
   * @default undefined: arguments are not checked
   */
  readonly args?: ArgsSchema<Args>;
  /** Reward of a rollout in which a mistake of the model made the agent fail. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent. Returns its answer, which the task's reward function scores, or a score.
   * Undefined counts as an empty answer.
   */
  readonly run: (context: Context, args: Args) => Promise<string | undefined | WorkflowOutput>;
}

/**
 * Creates a workflow that runs an agent and scores its answer. Its metric `model_fault` is 1 for a
 * rollout in which a mistake of the model made the agent fail, else 0.
 * @param play runs the agent: calls `runAgent` with the fields that the adapter adds to the
 * context, and returns the outcome
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
