/**
 * Runs the agent with a candidate's texts on rows of the data set. Returns the reward and feedback,
 * or the error, of each row.
 */
import {
  type Clock,
  describeError,
  type Logger,
  type RawTask,
  WorkflowError,
} from '@trinity-rft/core';
import { copyOf } from '@trinity-rft/core/support';
import pLimit from 'p-limit';
import { allRowsEnded, askJudge, timedCall } from '../candidates/all-ended.js';
import { nameOf, type JudgeType } from '../functions/functions.js';
import { checkWorkflowOutput, type WorkflowOutput } from '../functions/outputs.js';

/** Texts of the agent, keyed by name. `system` is the system prompt. */
export type Components = Readonly<Record<string, string>>;

export interface PromptInput<Row = RawTask> {
  /** Row of the data set, with its original keys. */
  readonly task: Row;
  /** System prompt, which is the text `system` of the components. */
  readonly systemPrompt: string;
  /**
   * All texts that are tuned, keyed by name. They may include descriptions of tools or prompts of
   * other agents.
   */
  readonly components: Components;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Function that runs the agent with the given texts. The function must provide its own model. A
 * reward in its output is ignored.
 */
export type PromptWorkflowType<Row = RawTask, Response = unknown> = (
  input: PromptInput<Row>,
) => WorkflowOutput<Response> | Promise<WorkflowOutput<Response>>;

/**
 * Result of running the agent on one row, as plain data. `reward` is undefined if the row failed,
 * because a failure says nothing about the prompt.
 */
export interface Played {
  readonly task: RawTask;
  /** Response of the agent, truncated to the length that is shown to the proposer. */
  readonly response: string;
  readonly reward?: number;
  /** Feedback of the judge or, for a failed row, the error message. */
  readonly feedback?: string;
}

/**
 * Function that runs the agent on rows.
 * @param onReward called as soon as a row has a reward, even if other rows fail or the signal
 * aborts later
 */
export type PlayRows = (
  components: Components,
  rows: readonly RawTask[],
  onReward?: (played: Played, index: number) => void,
) => Promise<readonly Played[]>;

interface PlayerOptions<Row, Response> {
  readonly workflowFunc: PromptWorkflowType<Row, Response>;
  readonly judgeFunc: JudgeType<Row, Response>;
  readonly threads: number;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const rowsFailed = 'PROMPT_ROWS_FAILED';

/** Returns true if an error means that several rows were run and all of them failed. */
export const isRowsFailed = (error: unknown): boolean =>
  error instanceof WorkflowError && error.code === rowsFailed;

/**
 * Creates the function that runs the agent on rows. It throws a WorkflowError if several rows are
 * run and all of them fail.
 */
export function rowPlayer<Row, Response>(options: PlayerOptions<Row, Response>): PlayRows {
  const { threads, logger, clock, signal } = options;
  const limit = pLimit(threads);
  return async (components, rows, onReward) => {
    const attempt = async (row: RawTask, index: number): Promise<Played> => {
      signal.throwIfAborted();
      try {
        const played = await playRow(options, components, row);
        onReward?.(played, index);
        return played;
      } catch (error) {
        signal.throwIfAborted();
        logger.warn(`A row failed: ${describeError(error)}`);
        return { task: row, response: '', feedback: describeError(error) };
      }
    };
    const attempts = rows.map((row, i) => limit(() => attempt(row, i)));
    const played = await allRowsEnded(attempts, { signal, clock, logger });
    if (rows.length > 1 && played.every(({ reward }) => reward === undefined))
      throw new WorkflowError(
        `All ${rows.length} rows failed, the first one with: ${played[0]?.feedback}. A failure says nothing about a prompt: mend the functions or their service, and call tunePrompt again.`,
        { code: rowsFailed },
      );
    return played;
  };
}

async function playRow<Row, Response>(
  options: PlayerOptions<Row, Response>,
  components: Components,
  row: RawTask,
): Promise<Played> {
  const { workflowFunc, judgeFunc, logger } = options;
  const workflowName = nameOf(workflowFunc, 'workflowFunc');
  const own = (): Row => copyOf(row) as Row;
  const systemPrompt = components['system'] ?? '';
  const output = await timedCall(workflowName, options, async (signal) =>
    workflowFunc({ task: own(), systemPrompt, components, logger, signal }),
  );
  const response = checkWorkflowOutput(workflowName, output).response as Response;
  const { reward, feedback } = await askJudge(judgeFunc, { task: own(), response }, options);
  return { task: row, response: shortText(response), reward, feedback: feedback ?? undefined };
}

/** Maximum length of a task, response or feedback that is shown to the proposer, in characters. */
const shownLength = 2000;

export const shortText = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, shownLength);
