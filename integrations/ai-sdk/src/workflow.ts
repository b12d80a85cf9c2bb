/** An agent of the AI SDK as a workflow. */
import { taskPrompt } from '@trinity-rft/core';
import {
  defineWorkflow,
  scoreOutcome,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import { withDefaultProvider } from './default-provider.js';
import { aiSdkModel, type CreateProvider } from './model.js';
import { outcomeOf } from './outcome.js';

/** What the agent gets, besides everything a workflow has. `Model` is the provider's model type. */
export interface AiSdkContext<Model> extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** The trained model. Agents that name their model as text need not be given it. */
  readonly languageModel: Model;
}

export interface AiSdkWorkflowOptions<Model> {
  /** What `default_workflow_type` says. */
  readonly name: string;
  /** `createOpenAI` (Responses) or `createOpenAICompatible` (chat completions). */
  readonly provider: CreateProvider<Model>;
  /** Reward of runs that end in a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent: its answer as text goes to the task's reward function; whoever knows the reward
   * already returns that. Pass `signal` to the agent as its `abortSignal`.
   */
  readonly run: (context: AiSdkContext<Model>) => Promise<string | WorkflowOutput>;
}

/**
 * Models named as text anywhere in the agent are the trained one, or the auxiliary model of that
 * name. The metric `model_fault` is the share of runs that the model ended by what it wrote.
 * @throws ConfigError when the name cannot be used
 */
export function aiSdkWorkflow<Model>({
  name,
  provider,
  faultReward = 0,
  run,
}: AiSdkWorkflowOptions<Model>): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (context) => {
      const { task, model, auxiliaryModels } = context;
      const languageModel = aiSdkModel(model.endpoint(), provider);
      const byName = (modelId: string): Model => {
        const helper = auxiliaryModels.get(modelId);
        return helper ? aiSdkModel(helper.endpoint(), provider) : languageModel;
      };
      const question = taskPrompt(task) ?? '';
      const outcome = await outcomeOf(
        withDefaultProvider(byName, () => run({ ...context, question, languageModel })),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
