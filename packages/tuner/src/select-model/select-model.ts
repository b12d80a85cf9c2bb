/** `selectModel`: which of several models a workflow does best with. */
import {
  ConfigError,
  describeError,
  mean,
  meanMetrics,
  silentLogger,
  systemClock,
  type Clock,
  type Logger,
  type Metrics,
  type RawTask,
} from '@trinity-rft/core';
import type { AgentModel } from '@trinity-rft/workflow';
import pLimit from 'p-limit';
import { adaptModels } from '../functions/adapter-workflow.js';
import { openCandidate, type RowContext } from './candidate.js';
import { DatasetConfig, type DatasetFields } from '../config/dataset-config.js';
import { TunerModelConfig, type TunerModelFields } from '../config/model-config.js';
import {
  checkJudgeFunction,
  checkWorkflowFunction,
  nameOf,
  type JudgeType,
  type ModelAdapter,
  type WorkflowType,
} from '../functions/functions.js';
import {
  checkJudgeOutput,
  checkWorkflowOutput,
  type WorkflowOutput,
} from '../functions/outputs.js';

/** What the judge gets: the workflow's response, and its metrics with those of the run. */
export interface MeasuredResponse<Response = unknown> {
  readonly response: Response;
  /**
   * The workflow's own, and `execution_time` (seconds), `input_tokens`, `output_tokens`,
   * `total_tokens` of all its calls.
   */
  readonly metrics: Metrics;
}

export interface SelectModelOptions<Row = RawTask, Response = unknown, Model = AgentModel> {
  readonly workflowFunc: WorkflowType<Row, Response, Model>;
  readonly judgeFunc: JudgeType<Row, MeasuredResponse<Response>, Model>;
  /** `totalSteps` bounds how many rows are run; `totalEpochs` means nothing here. */
  readonly trainDataset: DatasetFields;
  /** Two at least. Folders run here; those with `baseUrl` at their service. */
  readonly candidateModels: readonly TunerModelFields[];
  /** Rows in progress at once. @default 2 */
  readonly maxThreads?: number;
  readonly adapter?: ModelAdapter<Model> | undefined;
  /** Hears of failed rows. @default silent */
  readonly logger?: Logger;
  readonly cwd?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/** With an adapter, as its models are not those of this project. */
export type AdaptedSelectModelOptions<Row, Response, Model> = SelectModelOptions<
  Row,
  Response,
  Model
> & {
  readonly adapter: ModelAdapter<Model>;
};

export interface CandidateResult {
  readonly model: TunerModelConfig;
  /** Mean over the rows that ran; undefined when none did. */
  readonly reward: number | undefined;
  readonly failedRows: number;
  /** Means over the rows that ran, named `<key>_avg`. */
  readonly metrics: Metrics;
}

export interface SelectedModel {
  readonly model: TunerModelConfig;
  /** Of that model. */
  readonly metrics: Metrics;
  /** All of them, in the order given. */
  readonly candidates: readonly CandidateResult[];
}

/**
 * The model with the best mean reward; of equal ones the first. Candidates run one after the other,
 * nothing is trained or recorded.
 * @throws ConfigError for fewer than two candidates, and when every row of every candidate failed
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
  checkWorkflowFunction(options.workflowFunc);
  checkJudgeFunction(options.judgeFunc);
  const models = options.candidateModels.map(TunerModelConfig);
  if (models.length < 2)
    throw new ConfigError(
      `selectModel() got ${models.length} candidate models; expected at least two to choose from.`,
      {
        code: 'CANDIDATES_TOO_FEW',
      },
    );
  const candidates: CandidateResult[] = [];
  let firstError: unknown;
  for (const model of models) {
    const rows = await runRows(model, options);
    firstError ??= rows.find(({ error }) => error !== undefined)?.error;
    candidates.push(summarize(model, rows));
  }
  const best = candidates.reduce((chosen, candidate) =>
    (candidate.reward ?? -Infinity) > (chosen.reward ?? -Infinity) ? candidate : chosen,
  );
  if (best.reward === undefined)
    throw new ConfigError(
      `selectModel(): every row failed with every model; the first time: ${describeError(firstError)}`,
      {
        code: 'NO_ROW_RAN',
        cause: firstError,
      },
    );
  return { model: best.model, metrics: best.metrics, candidates };
}

interface JudgedRow {
  readonly reward?: number;
  readonly metrics?: Metrics;
  readonly error?: unknown;
}

async function runRows<Row, Response, Model>(
  model: TunerModelConfig,
  {
    workflowFunc,
    judgeFunc,
    adapter,
    trainDataset,
    maxThreads = 2,
    logger = silentLogger,
    clock = systemClock,
    cwd,
    signal,
  }: SelectModelOptions<Row, Response, Model>,
): Promise<readonly JudgedRow[]> {
  const dataset = DatasetConfig(trainDataset);
  const candidate = await openCandidate(model, { dataset, logger, clock, cwd, signal });
  const judged = async (row: number): Promise<JudgedRow> => {
    try {
      const { value, metrics } = await candidate.run(row, (context) =>
        runFunction({ workflowFunc, adapter, logger }, context),
      );
      const given = {
        response: value.response as Response,
        metrics: { ...value.metrics, ...metrics },
      };
      const input = {
        task: candidate.rows[row] as Row,
        response: given,
        auxiliaryModels: {},
        logger,
      };
      const output = checkJudgeOutput(nameOf(judgeFunc, 'judgeFunc'), await judgeFunc(input));
      return { reward: output.reward, metrics: { ...given.metrics, ...output.metrics } };
    } catch (error) {
      signal?.throwIfAborted();
      logger.warn(`Row ${row} failed with ${model.modelPath}: ${describeError(error)}`);
      return { error };
    }
  };
  try {
    const limit = pLimit(maxThreads);
    const count = Math.min(candidate.rows.length, dataset.totalSteps ?? Infinity);
    return await Promise.all(Array.from({ length: count }, (_, row) => limit(() => judged(row))));
  } finally {
    await candidate.close();
  }
}

async function runFunction<Row, Response, Model>(
  {
    workflowFunc,
    adapter,
    logger,
  }: { readonly logger: Logger } & Pick<
    SelectModelOptions<Row, Response, Model>,
    'workflowFunc' | 'adapter'
  >,
  { task, model, signal }: RowContext,
): Promise<WorkflowOutput> {
  const models = await adaptModels<Model>(adapter, { model, auxiliaryModels: new Map() });
  const output = await workflowFunc({ task: task as Row, ...models, logger, signal });
  return checkWorkflowOutput(nameOf(workflowFunc, 'workflowFunc'), output);
}

function summarize(model: TunerModelConfig, rows: readonly JudgedRow[]): CandidateResult {
  const ran = rows.filter((row) => row.reward !== undefined);
  const means = meanMetrics(ran.map(({ metrics = {} }) => metrics));
  const rewards = ran.map(({ reward = 0 }) => reward);
  return {
    model,
    reward: rewards.length === 0 ? undefined : mean(rewards),
    failedRows: rows.length - ran.length,
    metrics: Object.fromEntries(Object.entries(means).map(([key, value]) => [`${key}_avg`, value])),
  };
}
