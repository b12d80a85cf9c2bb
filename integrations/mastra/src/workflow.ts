/** Declares workflows that run Mastra agents. */
import {
  agentWorkflow,
  type AgentContext,
  type AgentWorkflowOptions,
  type AnyArgs,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import type { MastraModelOptions } from './model.js';
import { outcomeOf } from './outcome.js';
import { mastraRunOptions, type MastraRunOptions } from './run-options.js';

/** Context of the workflow function, with the options for the agent. */
export interface MastraContext extends AgentContext {
  /** Options to pass to every call of the agent in this rollout. */
  readonly options: MastraRunOptions;
}

export interface MastraWorkflowOptions<Args = AnyArgs>
  extends MastraModelOptions, AgentWorkflowOptions<MastraContext, Args> {}

/**
 * Declares a workflow that runs an agent. The metric `model_fault` is 1 for rollouts that end with
 * a `ModelFault`, otherwise 0.
 * @throws ConfigError for an invalid name
 */
export function mastraWorkflow<Args = AnyArgs>(
  options: MastraWorkflowOptions<Args>,
): WorkflowDefinition {
  return agentWorkflow(options, (context, runAgent) =>
    outcomeOf(runAgent({ options: mastraRunOptions(context, options) })),
  );
}
