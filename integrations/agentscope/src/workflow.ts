/** An AgentScope agent as a workflow. */
import {
  defineWorkflow,
  requirePrompt,
  scoreAnswer,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import { textOf } from './message.js';
import {
  agentscopeModel,
  type AgentscopeModelOptions,
  type AgentscopeModelSettings,
} from './model-options.js';

/** The context of a workflow, and what the agent needs. */
export interface AgentscopeContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** `new OpenAIChatModel(settings)` is the model of this run. */
  readonly settings: AgentscopeModelSettings;
}

/** The relevant part of an agent's reply. */
export interface Reply {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

export interface AgentscopeWorkflowOptions extends AgentscopeModelOptions {
  /** The value of `default_workflow_type`. */
  readonly name: string;
  /**
   * Creates an agent, which is stateful, and runs it. Returns its reply or a text, which the task's
   * reward function scores (null counts as empty text), or the score itself.
   */
  readonly run: (context: AgentscopeContext) => Promise<string | null | Reply | WorkflowOutput>;
}

/** The framework reports mistakes to the model. @throws ConfigError for an invalid name */
export function agentscopeWorkflow({
  name,
  run,
  ...options
}: AgentscopeWorkflowOptions): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (context) => {
      const settings = agentscopeModel(context.model.endpoint(), options);
      const result = await run({ ...context, question: requirePrompt(context.task), settings });
      if (typeof result === 'object' && result !== null && 'reward' in result) return result;
      const text = typeof result === 'object' && result !== null ? textOf(result) : result;
      return scoreAnswer(context, text ?? '');
    },
  });
}
