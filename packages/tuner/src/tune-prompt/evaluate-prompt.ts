/** Evaluates a system prompt: the mean reward of a workflow over rows. */
import { describeError, type Logger, type RawTask, mean } from '@trinity-rft/core';
import { copyOf } from '@trinity-rft/core/support';
import pLimit from 'p-limit';
import type { DatasetConfig } from '../config/dataset-config.js';
import { readDataset } from '../config/read-dataset.js';
import { nameOf, type JudgeType } from '../functions/functions.js';
import {
  checkJudgeOutput,
  checkWorkflowOutput,
  type WorkflowOutput,
} from '../functions/outputs.js';

export interface PromptInput<Row = RawTask> {
  /** The row, unchanged. */
  readonly task: Row;
  readonly systemPrompt: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Runs the agent with the prompt, on a separate model. A reward in its output is ignored. */
export type PromptWorkflowType<Row = RawTask, Response = unknown> = (
  input: PromptInput<Row>,
) => WorkflowOutput<Response> | Promise<WorkflowOutput<Response>>;

export interface RowReward {
  readonly task: RawTask;
  readonly response: unknown;
  /** 0 when the row failed. */
  readonly reward: number;
}

export interface Evaluation {
  readonly prompt: string;
  /** Mean over the rows. */
  readonly reward: number;
  readonly rows: readonly RowReward[];
}

interface EvaluatorOptions<Row, Response> {
  readonly workflowFunc: PromptWorkflowType<Row, Response>;
  readonly judgeFunc: JudgeType<Row, Response>;
  readonly threads: number;
  readonly logger: Logger;
  readonly cwd?: string;
  readonly signal: AbortSignal;
}

/** Reads the rows once, and returns the function that evaluates a prompt on them. */
export async function createEvaluator<Row, Response>(
  { workflowFunc, judgeFunc, threads, logger, cwd, signal }: EvaluatorOptions<Row, Response>,
  dataset: DatasetConfig,
): Promise<(prompt: string) => Promise<Evaluation>> {
  const rows = (await readDataset(dataset, cwd, signal)).slice(0, dataset.totalSteps);
  const runRow = async (systemPrompt: string, row: RawTask): Promise<RowReward> => {
    const own = (): Row => copyOf(row) as Row;
    const output = checkWorkflowOutput(
      nameOf(workflowFunc, 'workflowFunc'),
      await workflowFunc({ task: own(), systemPrompt, logger, signal }),
    );
    const response = output.response as Response;
    const judged = await judgeFunc({ task: own(), response, auxiliaryModels: {}, logger });
    return {
      task: row,
      response,
      reward: checkJudgeOutput(nameOf(judgeFunc, 'judgeFunc'), judged).reward,
    };
  };
  return async (prompt) => {
    const limit = pLimit(threads);
    const attempt = async (row: RawTask): Promise<RowReward> => {
      signal.throwIfAborted();
      try {
        return await runRow(prompt, row);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn(`A row failed: ${describeError(error)}`);
        return { task: row, response: describeError(error), reward: 0 };
      }
    };
    const results = await Promise.all(rows.map((row) => limit(() => attempt(row))));
    return { prompt, reward: mean(results.map(({ reward }) => reward)), rows: results };
  };
}
