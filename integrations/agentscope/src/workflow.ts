/** Declares workflows that run AgentScope agents. */
import {
  defineWorkflow,
  requirePrompt,
  scoreAnswer,
  type AgentContext,
  type AnyArgs,
  type ArgsSchema,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import { textOf } from './message.js';
import {
  agentscopeModel,
  type AgentscopeModelOptions,
  type AgentscopeModelSettings,
} from './model-options.js';

/** Context of the workflow function, with the model settings for the agent. */
export interface AgentscopeContext extends AgentContext {
  /**
   * Constructor argument for `new OpenAIChatModel(settings)`, which then calls this rollout's
   * model.
   */
  readonly settings: AgentscopeModelSettings;
}

/** An agent's reply, reduced to the part that is used. */
export interface Reply {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

export interface AgentscopeWorkflowOptions<Args = AnyArgs> extends AgentscopeModelOptions {
  /** Name with which `default_workflow_type` selects the workflow. */
  readonly name: string;
  /**
   * Schema of `workflow_args`, in zod or another Standard Schema library.
   * @default any arguments
   */
  readonly args?: ArgsSchema<Args>;
  /**
   * Creates and runs an agent. Create a new agent for each rollout, because agents are stateful.
   * Return the agent's reply or a string, which the task's reward function scores, or return the
   * score itself. Null is scored as an empty string.
   */
  readonly run: (
    context: AgentscopeContext,
    args: Args,
  ) => Promise<string | null | Reply | WorkflowOutput>;
}

/**
 * Declares a workflow that runs an agent. Other integrations have the metric `model_fault`; this
 * one does not, because AgentScope reports mistakes to the model instead of throwing errors.
 * @throws ConfigError for an invalid name
 */
export function agentscopeWorkflow<Args = AnyArgs>({
  name,
  args: schema,
  run,
  ...options
}: AgentscopeWorkflowOptions<Args>): WorkflowDefinition {
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (context, args) => {
      const settings = agentscopeModel(context.model.endpoint(), options);
      const result = await run(
        { ...context, question: requirePrompt(context.task), settings },
        args,
      );
      if (result === undefined || result === null || typeof result === 'string')
        return scoreAnswer(context, result ?? '');
      // Returns other values unchanged. The explorer reports values that are neither a reply nor a
      // score.
      return isReply(result) ? scoreAnswer(context, textOf(result)) : result;
    },
  });
}

const isReply = (result: Reply | WorkflowOutput): result is Reply =>
  typeof result === 'object' && 'content' in result && Array.isArray(result.content);
