/** Runs one model on every row of a data set, and returns the reward and metrics of each row. */
import {
  describeError,
  type Clock,
  type Logger,
  type Metrics,
  silentLogger,
  systemClock,
} from '@trinity-rft/core';
import pLimit from 'p-limit';
import { DatasetConfig, type DatasetFields } from '../config/dataset-config.js';
import type { TunerModelConfig } from '../config/model-config.js';
import { adaptModels } from '../functions/adapter-workflow.js';
import {
  nameOf,
  type JudgeType,
  type ModelAdapter,
  type WorkflowType,
} from '../functions/functions.js';
import { checkWorkflowOutput } from '../functions/outputs.js';
import { allRowsEnded, askJudge, timedCall } from './all-ended.js';
import { openCandidate, type Candidate } from './candidate.js';

/** Response of the workflow function for the judge, with the metrics of the row. */
export interface MeasuredResponse<Response = unknown> {
  readonly response: Response;
  /**
   * Metrics that the workflow function returned, and `execution_time` (in seconds), `model_calls`,
   * `input_tokens`, `output_tokens` and `total_tokens` over all model calls of the row. Counts that
   * could not be measured are omitted: an agent may call a service without the endpoint's `fetch`,
   * and a response may not report its tokens.
   */
  readonly metrics: Metrics;
}

export interface RowsOptions<Row, Response, Model> {
  readonly workflowFunc: WorkflowType<Row, Response, Model>;
  readonly judgeFunc: JudgeType<Row, MeasuredResponse<Response>, Model>;
  /** Data set to run on. `totalSteps` limits the number of rows; `totalEpochs` is ignored. */
  readonly dataset: DatasetFields;
  /** Maximum number of rows that run concurrently. @default 2 */
  readonly maxThreads?: number;
  readonly adapter?: ModelAdapter<Model>;
  /** Logger for failed rows. @default no log */
  readonly logger?: Logger;
  readonly cwd?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface JudgedRow {
  readonly reward?: number;
  readonly metrics?: Metrics;
  readonly error?: unknown;
}

/**
 * Runs a model on the rows, and returns the results in the order of the rows. After an abort, no
 * further row starts. The promise then rejects once the rows in progress have ended, or after 5
 * seconds.
 */
export async function runRows<Row, Response, Model>(
  model: TunerModelConfig,
  options: RowsOptions<Row, Response, Model>,
): Promise<readonly JudgedRow[]> {
  const { maxThreads = 2, logger = silentLogger, clock = systemClock, cwd } = options;
  const { signal = new AbortController().signal } = options;
  const dataset = DatasetConfig(options.dataset);
  const candidate = await openCandidate(model, { dataset, logger, clock, cwd, signal });
  const runRow = async (row: number): Promise<JudgedRow> => {
    signal.throwIfAborted();
    try {
      return await judgeRow(candidate, row, { ...options, logger, clock, signal });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn(`Row ${row} failed with ${model.modelPath}: ${describeError(error)}`);
      return { error };
    }
  };
  try {
    const limit = pLimit(maxThreads);
    const count = Math.min(candidate.count, dataset.totalSteps ?? Infinity);
    const rows = Array.from({ length: count }, (_, row) => limit(() => runRow(row)));
    return await allRowsEnded(rows, { signal, clock, logger });
  } finally {
    await candidate.close();
  }
}

async function judgeRow<Row, Response, Model>(
  candidate: Candidate,
  row: number,
  options: RowsOptions<Row, Response, Model> & {
    readonly logger: Logger;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<JudgedRow> {
  const { workflowFunc, judgeFunc, adapter, logger } = options;
  const workflowName = nameOf(workflowFunc, 'workflowFunc');
  const task = (): Row => candidate.task(row) as Row;
  const { value, metrics } = await candidate.run(row, async ({ model, signal: runEnd }) => {
    const run = { ...options, signal: runEnd };
    const output = await timedCall(`${workflowName} on row ${row}`, run, async (ended) => {
      const models = await adaptModels<Model>(adapter, { model, auxiliaryModels: new Map() });
      return workflowFunc({ task: task(), ...models, logger, signal: ended });
    });
    return checkWorkflowOutput(workflowName, output);
  });
  const response = {
    response: value.response as Response,
    metrics: { ...value.metrics, ...metrics },
  };
  const judged = await askJudge(judgeFunc, { task: task(), response }, options, ` on row ${row}`);
  return { reward: judged.reward, metrics: { ...response.metrics, ...judged.metrics } };
}
