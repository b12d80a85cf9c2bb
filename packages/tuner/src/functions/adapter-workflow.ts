/** Combines a workflow function and a judge function into a workflow that the launcher runs. */
import { copyOf } from '@trinity-rft/core/support';
import {
  defineWorkflow,
  type AgentModel,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import { adapterWorkflowName } from '../config/tree.js';
import { nameOf, type JudgeType, type ModelAdapter, type WorkflowType } from './functions.js';
import { checkJudgeOutput, checkWorkflowOutput, rewardOf } from './outputs.js';

export interface Functions<Row, Response, Model> {
  readonly workflowFunc: WorkflowType<Row, Response, Model>;
  readonly judgeFunc?: JudgeType<Row, Response, Model>;
  readonly adapter?: ModelAdapter<Model>;
}

/**
 * Creates the workflow that runs the user's functions and validates their outputs. Metrics of the
 * judge override metrics of the workflow function with the same name.
 */
export function adapterWorkflow<Row, Response, Model>(
  functions: Functions<Row, Response, Model>,
): WorkflowDefinition {
  return defineWorkflow({
    name: adapterWorkflowName,
    run: (context) => runFunctions(functions, context),
  });
}

async function runFunctions<Row, Response, Model>(
  { workflowFunc, judgeFunc, adapter }: Functions<Row, Response, Model>,
  context: WorkflowContext,
): Promise<WorkflowOutput> {
  const { model, auxiliaryModels } = await adaptModels(adapter, context);
  const { signal } = context;
  const { logger } = context.runtime;
  // Each function gets its own copy of the row, which it may edit.
  const row = (): Row => copyOf(context.task.rawTask) as Row;
  const name = nameOf(workflowFunc, 'workflowFunc');
  const output = checkWorkflowOutput(
    name,
    await workflowFunc({ task: row(), model, auxiliaryModels, logger, signal }),
  );
  const metrics = output.metrics ?? {};
  if (!judgeFunc) return { reward: rewardOf(name, output), metrics };
  const response = output.response as Response;
  const judged = checkJudgeOutput(
    nameOf(judgeFunc, 'judgeFunc'),
    await judgeFunc({ task: row(), response, auxiliaryModels, logger, signal }),
  );
  const { reward, feedback } = judged;
  const scored = { reward, metrics: { ...metrics, ...judged.metrics } };
  return feedback ? { ...scored, info: { reasons: { judge: feedback } } } : scored;
}

export interface AdaptedModels<Model> {
  readonly model: Model;
  readonly auxiliaryModels: Readonly<Record<string, Model>>;
}

/** Applies the adapter to all models. Without an adapter, returns the models unchanged. */
export async function adaptModels<Model>(
  adapter: ModelAdapter<Model> | undefined,
  { model, auxiliaryModels }: Pick<WorkflowContext, 'model' | 'auxiliaryModels'>,
): Promise<AdaptedModels<Model>> {
  // Without an adapter, Model is AgentModel, because the overloads of `tune` require an adapter for
  // all other models.
  const adapt = async (one: AgentModel): Promise<Model> =>
    adapter ? adapter(one.endpoint()) : (one as Model);
  const adapted = await Promise.all(
    [...auxiliaryModels].map(async ([name, one]) => [name, await adapt(one)] as const),
  );
  return { model: await adapt(model), auxiliaryModels: Object.fromEntries(adapted) };
}
