/** An agent of the AI SDK as a workflow. */
import {
  defineWorkflow,
  requirePrompt,
  scoreOutcome,
  type AnyArgs,
  type ArgsSchema,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import { withDefaultProvider } from './default-provider.js';
import { aiSdkModel, type CreateProvider, type ModelOf } from './model.js';
import { outcomeOf } from './outcome.js';

/** The context of a workflow, and what the agent needs. `Model` is the provider's model type. */
export interface AiSdkContext<Model> extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
  /** The trained model, for agents that do not name their model as text. */
  readonly languageModel: Model;
}

export interface AiSdkWorkflowOptions<Create extends CreateProvider, Args = AnyArgs> {
  /** The value of `default_workflow_type`. */
  readonly name: string;
  /**
   * The schema of `workflow_args`, in zod or another library of Standard Schema.
   * @default anything goes
   */
  readonly args?: ArgsSchema<Args>;
  /** `createOpenAI` (Responses) or `createOpenAICompatible` (chat completions). */
  readonly provider: Create;
  /** The reward of runs that end with a `ModelFault`. @default 0 */
  readonly faultReward?: number;
  /**
   * Runs the agent, with `signal` as its `abortSignal`. Returns its answer, which the task's reward
   * function scores, or the score itself.
   */
  readonly run: (
    context: AiSdkContext<ModelOf<Create>>,
    args: Args,
  ) => Promise<string | WorkflowOutput>;
}

/**
 * A model that the agent names as text is the auxiliary model of that name, else the trained model.
 * The metric `model_fault` is 1 for runs that end with a `ModelFault`, else 0.
 * @throws ConfigError for an invalid name
 */
export function aiSdkWorkflow<Create extends CreateProvider, Args = AnyArgs>({
  name,
  args: schema,
  provider,
  faultReward = 0,
  run,
}: AiSdkWorkflowOptions<Create, Args>): WorkflowDefinition {
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (context, args) => {
      const { task, model, auxiliaryModels } = context;
      const languageModel = aiSdkModel(model.endpoint(), provider);
      const byName = (modelId: string): ModelOf<Create> => {
        const auxiliary = auxiliaryModels.get(modelId);
        return auxiliary ? aiSdkModel(auxiliary.endpoint(), provider) : languageModel;
      };
      const question = requirePrompt(task);
      const outcome = await outcomeOf(
        withDefaultProvider(byName, () => run({ ...context, question, languageModel }, args)),
      );
      return scoreOutcome(context, outcome, faultReward);
    },
  });
}
