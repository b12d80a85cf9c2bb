/** Declares workflows that run agents of the OpenAI Agents SDK. */
import type { Runner } from '@openai/agents';
import {
  agentWorkflow,
  type AgentContext,
  type AgentWorkflowOptions,
  type AnyArgs,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import type { OpenAIAgentsApi } from './model.js';
import { outcomeOf } from './outcome.js';
import { openaiAgentsRunner } from './runner.js';

/** Context of the workflow function, with the runner for the agent. */
export interface OpenAIAgentsContext extends AgentContext {
  /** The runner of this rollout, which calls the rollout's model. */
  readonly runner: Runner;
}

export interface OpenAIAgentsWorkflowOptions<Args = AnyArgs> extends AgentWorkflowOptions<
  OpenAIAgentsContext,
  Args
> {
  /** API that the SDK calls. @default "responses" */
  readonly api?: OpenAIAgentsApi;
}

/**
 * Declares a workflow that runs an agent. The metric `model_fault` is 1 for rollouts that end with
 * a `ModelFault`, otherwise 0.
 * @throws ConfigError for an invalid name
 */
export function openaiAgentsWorkflow<Args = AnyArgs>({
  api,
  ...options
}: OpenAIAgentsWorkflowOptions<Args>): WorkflowDefinition {
  return agentWorkflow(options, ({ model }, runAgent) =>
    outcomeOf(runAgent({ runner: openaiAgentsRunner(model.endpoint(), { api }) })),
  );
}
