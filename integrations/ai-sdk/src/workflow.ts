/** Declares workflows that run AI SDK agents. */
import {
  agentWorkflow,
  type AgentContext,
  type AgentWorkflowOptions,
  type AnyArgs,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { withDefaultProvider } from './default-provider.js';
import { aiSdkModel, type CreateProvider, type ModelOf } from './model.js';
import { outcomeOf } from './outcome.js';

/**
 * Context of the workflow function, with the model for the agent. `Model` is the model type of the
 * provider.
 */
export interface AiSdkContext<Model> extends AgentContext {
  /** The trained model. Agents that specify their model by name do not need it. */
  readonly languageModel: Model;
}

/** Options of {@link aiSdkWorkflow}. `run` must pass `signal` to the agent as its `abortSignal`. */
export interface AiSdkWorkflowOptions<
  Create extends CreateProvider,
  Args = AnyArgs,
> extends AgentWorkflowOptions<AiSdkContext<ModelOf<Create>>, Args> {
  /**
   * Function that creates the provider of the model: `createOpenAI` (Responses API) or
   * `createOpenAICompatible` (Chat Completions API).
   */
  readonly provider: Create;
}

/**
 * Declares a workflow that runs an agent. If the agent specifies its model by name, it gets the
 * auxiliary model with this name or, if there is none, the trained model. The metric `model_fault`
 * is 1 for rollouts that end with a `ModelFault`, otherwise 0.
 * @throws ConfigError for an invalid name
 */
export function aiSdkWorkflow<Create extends CreateProvider, Args = AnyArgs>({
  provider,
  ...options
}: AiSdkWorkflowOptions<Create, Args>): WorkflowDefinition {
  return agentWorkflow(options, ({ model, auxiliaryModels }, runAgent) => {
    const languageModel = aiSdkModel(model.endpoint(), provider);
    const byName = (modelId: string): ModelOf<Create> => {
      const auxiliary = auxiliaryModels.get(modelId);
      return auxiliary ? aiSdkModel(auxiliary.endpoint(), provider) : languageModel;
    };
    return outcomeOf(withDefaultProvider(byName, () => runAgent({ languageModel })));
  });
}
