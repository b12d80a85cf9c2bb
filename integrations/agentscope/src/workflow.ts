/** An AgentScope agent as a workflow. */
import { taskPrompt } from '@trinity-rft/core';
import {
  defineWorkflow,
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

/** What the agent gets, besides everything a workflow has. */
export interface AgentscopeContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** `new OpenAIChatModel(settings)` is the model of this run. */
  readonly settings: AgentscopeModelSettings;
}

/** An agent's reply, as far as it matters here. */
export interface Reply {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

export interface AgentscopeWorkflowOptions extends AgentscopeModelOptions {
  /** What `default_workflow_type` says. */
  readonly name: string;
  /**
   * Runs an agent that is made for this run, for it keeps what was said: its reply, or a text, goes
   * to the task's reward function; whoever knows the reward already returns that. No answer counts
   * as an empty one.
   */
  readonly run: (context: AgentscopeContext) => Promise<string | null | Reply | WorkflowOutput>;
}

/**
 * What the model does wrong, the framework tells the model.
 * @throws ConfigError when the name cannot be used
 */
export function agentscopeWorkflow({
  name,
  run,
  ...options
}: AgentscopeWorkflowOptions): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (context) => {
      const settings = agentscopeModel(context.model.endpoint(), options);
      const result = await run({ ...context, question: taskPrompt(context.task) ?? '', settings });
      if (typeof result === 'object' && result !== null && 'reward' in result) return result;
      return scoreAnswer(
        context,
        typeof result === 'object' && result !== null ? textOf(result) : (result ?? ''),
      );
    },
  });
}
