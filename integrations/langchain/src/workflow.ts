/** An agent of LangChain, or a graph of LangGraph, as a workflow. */
import type { ChatOpenAI } from '@langchain/openai';
import { taskPrompt } from '@trinity-rft/core';
import {
  defineWorkflow,
  scoreOutcome,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import type { LangchainModelOptions } from './model.js';
import { outcomeOf } from './outcome.js';
import { modelOf, runConfig, type RunConfig } from './redirect.js';

/** What the agent gets, besides everything a workflow has. */
export interface LangchainContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** The model of this run, for agents that are made for each run. */
  readonly chatModel: ChatOpenAI;
  /**
   * For `invoke` and `stream` of every agent: the signal, a thread of its own, and the model for
   * {@link redirectModel}.
   */
  readonly config: RunConfig;
}

export interface LangchainWorkflowOptions extends LangchainModelOptions {
  /** What `default_workflow_type` says. */
  readonly name: string;
  /** Reward of runs that end in a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent: its answer as text goes to the task's reward function; whoever knows the reward
   * already returns that.
   */
  readonly run: (context: LangchainContext) => Promise<string | undefined | WorkflowOutput>;
}

/**
 * Its metric `model_fault` is the share of runs that the model ended by what it wrote.
 * @throws ConfigError when the name cannot be used
 */
export function langchainWorkflow({
  name,
  faultReward = 0,
  run,
  ...options
}: LangchainWorkflowOptions): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (context) => {
      const { task, model, runtime, signal } = context;
      const config = runConfig({ endpoint: model.endpoint(), runtime, signal, ...options });
      const outcome = await outcomeOf(
        run({ ...context, question: taskPrompt(task) ?? '', chatModel: modelOf(config), config }),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
