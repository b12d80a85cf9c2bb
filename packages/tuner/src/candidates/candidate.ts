/**
 * A candidate model, local or behind an OpenAI-compatible service, that can be run on the rows of a
 * data set.
 */
import type { ResolvedConfig } from '@trinity-rft/config';
import {
  CancelledError,
  type Clock,
  type Logger,
  type Metrics,
  type RawTask,
  InvariantError,
} from '@trinity-rft/core';
import { copyOf, tryJson } from '@trinity-rft/core/support';
import { openRollouts, type Rollouts } from '@trinity-rft/inspect';
import { defineWorkflow, reportedTokens, type AgentModel } from '@trinity-rft/workflow';
import { DatasetConfig, type DatasetFields } from '../config/dataset-config.js';
import { TunerModelConfig, type TunerModelFields } from '../config/model-config.js';
import { plan } from '../config/plan.js';
import { readDataset } from '../config/read-dataset.js';
import { remoteModel } from '../config/remote-model.js';
import { callTimeoutMs } from './all-ended.js';

export interface CandidateOptions {
  readonly dataset: DatasetConfig;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

interface RowContext {
  readonly model: AgentModel;
  readonly signal: AbortSignal;
}

interface Measured<T> {
  readonly value: T;
  /**
   * Metrics of the row: `execution_time` in seconds, and `model_calls`, `input_tokens`,
   * `output_tokens` and `total_tokens` summed over all model calls. For a model behind a service,
   * all but `execution_time` are omitted if no call was observed, and the token counts are also
   * omitted if a response did not report them.
   */
  readonly metrics: Metrics;
}

export interface Candidate {
  /** Number of rows. */
  readonly count: number;
  /** Returns a copy of a row, which the caller may modify. */
  readonly task: (row: number) => RawTask;
  /**
   * Calls `work` with a row, and measures the call. With a local model, `work` is retried as in
   * training. Rejects with the error of `work`.
   */
  run<T>(row: number, work: (context: RowContext) => Promise<T>): Promise<Measured<T>>;
  close(): Promise<void>;
}

/**
 * Opens a candidate model and the rows of a data set.
 * @throws ConfigError if the model is invalid; TaskError if the data set is invalid
 */
export async function openCandidate(
  model: TunerModelConfig,
  options: CandidateOptions,
): Promise<Candidate> {
  return model.baseUrl === undefined
    ? openLocal(model, options)
    : openRemote(model, model.baseUrl, options);
}

/**
 * Validates the fields of models and, for local models, their configurations. Loads no weights, so
 * that mistakes in later models are found before the first one runs.
 * @throws ConfigError for the first invalid model
 */
export function checkModels(
  models: readonly TunerModelFields[],
  dataset: DatasetFields,
  options: Pick<Partial<CandidateOptions>, 'cwd' | 'clock'>,
): readonly TunerModelConfig[] {
  const checked = models.map(TunerModelConfig);
  const rows = DatasetConfig(dataset);
  for (const model of checked)
    if (model.baseUrl === undefined) configOf(model, { ...options, dataset: rows });
  return checked;
}

function configOf(
  model: TunerModelConfig,
  { dataset, cwd, clock }: Pick<CandidateOptions, 'dataset' | 'cwd'> & { readonly clock?: Clock },
): ResolvedConfig {
  const settings = { model, trainDataset: dataset, cwd, clock };
  return plan(`the model ${model.modelPath}`, settings).loaded.config;
}

async function openLocal(model: TunerModelConfig, options: CandidateOptions): Promise<Candidate> {
  const { logger, clock, signal } = options;
  const rollouts = await openRollouts({
    config: configOf(model, options),
    logger,
    clock,
    signal,
  });
  return {
    count: rollouts.tasks.length,
    task: (row) => copyOf(at(rollouts.tasks, row).rawTask),
    run: (row, work) => runLocal(rollouts, row, work, clock),
    close: () => rollouts.close(),
  };
}

/**
 * Runs `work` as a workflow on a local model, with the timeout and retries of training. The
 * workflow's reward is ignored.
 */
async function runLocal<T>(
  rollouts: Rollouts,
  row: number,
  work: (context: RowContext) => Promise<T>,
  clock: Clock,
): Promise<Measured<T>> {
  const task = at(rollouts.tasks, row);
  let measured: Measured<T> | undefined;
  const workflow = defineWorkflow({
    name: task.workflow,
    run: async ({ model, signal }) => {
      const startMs = clock.now();
      const value = await work({ model, signal });
      const choices = model.extractExperiencesFromHistory({ clear: false });
      const calls = new Map(choices.map(({ eid, promptLength }) => [eid.step, promptLength]));
      const input = [...calls.values()].reduce((sum, length) => sum + length, 0);
      const output = choices.reduce(
        (sum, { tokens, promptLength }) => sum + tokens.length - promptLength,
        0,
      );
      measured = {
        value,
        metrics: {
          execution_time: (clock.now() - startMs) / 1000,
          ...costMetrics(calls.size, input, output),
        },
      };
      return 0;
    },
  });
  const outcome = await rollouts.run(task, workflow);
  if (outcome.status === 'failed') throw outcome.error;
  if (!measured) throw new InvariantError('A run succeeded without running its workflow.');
  return measured;
}

const costMetrics = (calls: number, input: number, output: number): Metrics => ({
  model_calls: calls,
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});

async function openRemote(
  model: TunerModelConfig,
  baseURL: string,
  options: CandidateOptions,
): Promise<Candidate> {
  const { dataset, clock, cwd, signal = new AbortController().signal } = options;
  const rows = await readDataset(dataset, cwd, signal);
  return {
    count: rows.length,
    task: (row) => copyOf(at(rows, row)),
    run: async (_, work) => {
      const counter = usageCounter();
      const rowEnd = new AbortController();
      const remote = remoteModel(model, {
        ...{ baseURL, signal: AbortSignal.any([signal, rowEnd.signal]) },
        timeoutMs: callTimeoutMs,
        fetch: counter.fetch,
      });
      const startMs = clock.now();
      try {
        const value = await work({ model: remote, signal });
        return {
          value,
          metrics: { execution_time: (clock.now() - startMs) / 1000, ...counter.metrics() },
        };
      } catch (error) {
        // A function that is given up may ignore its signal and call the model again.
        rowEnd.abort(new CancelledError('The row has ended.', { reason: 'aborted' }));
        throw error;
      }
    },
    close: () => Promise.resolve(),
  };
}

const isPost = (...[request, init]: Parameters<typeof globalThis.fetch>): boolean =>
  (init?.method ?? (request instanceof Request ? request.method : 'GET')).toUpperCase() === 'POST';

/**
 * Creates a `fetch` that counts successful POST requests and the tokens that their responses
 * report. Calls that an agent makes without this `fetch` are not counted. The tokens of streamed
 * responses are unknown.
 */
function usageCounter() {
  let [calls, input, output] = [0, 0, 0];
  const counting: typeof globalThis.fetch = async (request, init) => {
    const response = await globalThis.fetch(request, init);
    if (!response.ok || !isPost(request, init)) return response;
    const isJson = (response.headers.get('content-type') ?? '').includes('json');
    const answer = isJson ? tryJson(await response.clone().text()) : undefined;
    const { inputTokens = NaN, outputTokens = NaN } = reportedTokens(answer);
    calls += 1;
    input += inputTokens;
    output += outputTokens;
    return response;
  };
  const metrics = (): Metrics => {
    if (calls === 0) return {};
    return Number.isFinite(input + output)
      ? costMetrics(calls, input, output)
      : { model_calls: calls };
  };
  return { fetch: counting, metrics };
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new InvariantError(`There is no row ${index}.`);
  return item;
}
