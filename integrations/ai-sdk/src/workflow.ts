/** An AI SDK agent as a workflow. */
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

/** Context of a workflow, with the model for the agent. `Model` is the provider's model type. */
export interface AiSdkContext<Model> extends AgentContext {
  /** The trained model, for agents that do not specify their model by name. */
  readonly languageModel: Model;
}

/** Options of {@link aiSdkWorkflow}. `run` must pass `signal` to the agent as its `abortSignal`. */
export interface AiSdkWorkflowOptions<
  Create extends CreateProvider,
  Args = AnyArgs,
> extends AgentWorkflowOptions<AiSdkContext<ModelOf<Create>>, Args> {
  /**
   * Provider for the model: `createOpenAI` (Responses) or `createOpenAICompatible` (Chat
   * Completions).
   */
  readonly provider: Create;
}

/**
 * Declares a workflow that runs an agent. An agent that specifies its model by name gets the
 * auxiliary model of that name if there is one, otherwise the trained model. The metric
 * `model_fault` is 1 for rollouts that end with a `ModelFault`, otherwise 0.
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
