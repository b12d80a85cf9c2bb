/** Declares workflows that run LangChain agents or LangGraph graphs. */
import type { ChatOpenAI } from '@langchain/openai';
import {
  agentWorkflow,
  type AgentContext,
  type AgentWorkflowOptions,
  type AnyArgs,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import type { LangchainModelOptions } from './model.js';
import { outcomeOf } from './outcome.js';
import { modelOf, runConfig, type RunConfig } from './redirect.js';

/** Context of the workflow function, with the model for the agent. */
export interface LangchainContext extends AgentContext {
  /** The model of this rollout, for agents that are created within the rollout. */
  readonly chatModel: ChatOpenAI;
  /**
   * Configuration to pass to `invoke` and `stream`. It contains the signal, the thread, and the
   * model for {@link redirectModel}.
   */
  readonly config: RunConfig;
}

export interface LangchainWorkflowOptions<Args = AnyArgs>
  extends LangchainModelOptions, AgentWorkflowOptions<LangchainContext, Args> {}

/**
 * Declares a workflow that runs an agent. The metric `model_fault` is 1 for rollouts that end with
 * a `ModelFault`, otherwise 0.
 * @throws ConfigError for an invalid name
 */
export function langchainWorkflow<Args = AnyArgs>({
  name,
  args,
  faultReward,
  run,
  ...modelOptions
}: LangchainWorkflowOptions<Args>): WorkflowDefinition {
  return agentWorkflow({ name, args, faultReward, run }, ({ model, runtime, signal }, runAgent) => {
    const config = runConfig({ endpoint: model.endpoint(), runtime, signal, ...modelOptions });
    return outcomeOf(runAgent({ chatModel: modelOf(config), config }));
  });
}
