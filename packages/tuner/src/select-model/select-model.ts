/** Finds the candidate model with which a workflow earns the highest mean reward. */
import {
  ConfigError,
  describeError,
  type Clock,
  type Logger,
  type Metrics,
  type RawTask,
  mean,
  meanMetrics,
} from '@trinity-rft/core';
import type { AgentModel } from '@trinity-rft/workflow';
import { checkModels } from '../candidates/candidate.js';
import { runRows, type JudgedRow, type MeasuredResponse } from '../candidates/run-rows.js';
import type { DatasetFields } from '../config/dataset-config.js';
import type { TunerModelConfig, TunerModelFields } from '../config/model-config.js';
import {
  checkJudgeFunction,
  checkOptions,
  checkWorkflowFunction,
  type JudgeType,
  type ModelAdapter,
  type WorkflowType,
} from '../functions/functions.js';

export interface SelectModelOptions<Row = RawTask, Response = unknown, Model = AgentModel> {
  readonly workflowFunc: WorkflowType<Row, Response, Model>;
  readonly judgeFunc: JudgeType<Row, MeasuredResponse<Response>, Model>;
  /** Data set to run on. `totalSteps` limits the number of rows; `totalEpochs` is ignored. */
  readonly trainDataset: DatasetFields;
  /** At least two models to compare: folders, or models of a service with `baseUrl`. */
  readonly candidateModels: readonly TunerModelFields[];
  /** Maximum number of rows that run concurrently. @default 2 */
  readonly maxThreads?: number;
  readonly adapter?: ModelAdapter<Model>;
  /** Logger for failed rows. @default no log */
  readonly logger?: Logger;
  readonly cwd?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/** Options with an adapter, which is required if `Model` is not {@link AgentModel}. */
export type AdaptedSelectModelOptions<Row, Response, Model> = SelectModelOptions<
  Row,
  Response,
  Model
> & {
  readonly adapter: ModelAdapter<Model>;
};

/**
 * A candidate model with its defaults, without the API key, so that it may be logged or saved. Add
 * `apiKey` to call the model.
 */
export type CandidateModel = Omit<TunerModelConfig, 'apiKey'>;

export interface CandidateResult {
  readonly model: CandidateModel;
  /** Mean reward over the rows that succeeded; undefined if all rows failed. */
  readonly reward: number | undefined;
  readonly failedRows: number;
  /** Mean of each metric over the rows that succeeded, under the name `<key>_avg`. */
  readonly metrics: Metrics;
}

export interface SelectedModel {
  readonly model: CandidateModel;
  /** Metrics of the selected model. */
  readonly metrics: Metrics;
  /** Results of all candidates, in the order of `candidateModels`. */
  readonly candidates: readonly CandidateResult[];
}

/**
 * Returns the model with the highest mean reward; if several are equal, the first of them.
 * Candidates run one after the other. They are not trained, and nothing is recorded.
 * @throws ConfigError for fewer than two candidates or an invalid one, before any row runs; or if
 * every row of every candidate failed
 */
export function selectModel<Row = RawTask, Response = unknown>(
  options: SelectModelOptions<Row, Response>,
): Promise<SelectedModel>;
export function selectModel<Row, Response, Model>(
  options: AdaptedSelectModelOptions<Row, Response, Model>,
): Promise<SelectedModel>;
export async function selectModel<Row, Response, Model>(
  options: SelectModelOptions<Row, Response, Model>,
): Promise<SelectedModel> {
  checkOptions('selectModel()', options, 'trainDataset candidateModels maxThreads adapter logger');
  checkWorkflowFunction(options.workflowFunc);
  checkJudgeFunction(options.judgeFunc);
  const { candidateModels, trainDataset } = options;
  if (candidateModels.length < 2)
    throw new ConfigError(
      `selectModel() got ${candidateModels.length} candidate models; expected at least two.`,
      { code: 'CANDIDATES_TOO_FEW' },
    );
  const candidates: CandidateResult[] = [];
  let firstError: unknown;
  for (const model of checkModels(candidateModels, trainDataset, options)) {
    const rows = await runRows(model, { ...options, dataset: trainDataset });
    firstError ??= rows.find(({ error }) => error !== undefined)?.error;
    candidates.push(summarize(model, rows));
  }
  const best = candidates.reduce((chosen, candidate) =>
    (candidate.reward ?? -Infinity) > (chosen.reward ?? -Infinity) ? candidate : chosen,
  );
  if (best.reward === undefined)
    throw new ConfigError(
      'selectModel(): every row failed with every model. The first error: ' +
        `${describeError(firstError)}`,
      { code: 'NO_ROW_RAN', cause: firstError },
    );
  return { model: best.model, metrics: best.metrics, candidates };
}

function summarize(
  { apiKey: _apiKey, ...model }: TunerModelConfig,
  rows: readonly JudgedRow[],
): CandidateResult {
  const succeeded = rows.filter((row) => row.reward !== undefined);
  const means = meanMetrics(succeeded.map(({ metrics = {} }) => metrics));
  const rewards = succeeded.map(({ reward = 0 }) => reward);
  return {
    model,
    reward: rewards.length === 0 ? undefined : mean(rewards),
    failedRows: rows.length - succeeded.length,
    metrics: Object.fromEntries(Object.entries(means).map(([key, value]) => [`${key}_avg`, value])),
  };
}
