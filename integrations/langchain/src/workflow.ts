/** An agent of LangChain, or a graph of LangGraph, as a workflow. */
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

/** The context of a workflow, and what the agent needs. */
export interface LangchainContext extends AgentContext {
  /** The model of this run, for agents that are created per run. */
  readonly chatModel: ChatOpenAI;
  /** For `invoke` and `stream`: signal, thread, and the model for {@link redirectModel}. */
  readonly config: RunConfig;
}

export interface LangchainWorkflowOptions<Args = AnyArgs>
  extends LangchainModelOptions, AgentWorkflowOptions<LangchainContext, Args> {}

/**
 * The metric `model_fault` is 1 for runs that end with a `ModelFault`, else 0.
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
