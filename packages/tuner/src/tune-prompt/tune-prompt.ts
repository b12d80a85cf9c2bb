/** Searches for better texts of an agent, mainly its system prompt. No weights are trained. */
import {
  ConfigError,
  createRuntime,
  describeError,
  type Clock,
  type Logger,
  mean,
  type Metrics,
  type RawTask,
  silentLogger,
  systemClock,
} from '@trinity-rft/core';
import { pairedDifference } from '@trinity-rft/explorer';
import { z } from 'zod';
import { DatasetConfig, type DatasetFields } from '../config/dataset-config.js';
import { TunerModelConfig, type TunerModelFields } from '../config/model-config.js';
import { checkFields, count } from '../config/fields.js';
import { readDataset } from '../config/read-dataset.js';
import { remoteModel } from '../config/remote-model.js';
import {
  checkJudgeFunction,
  checkOptions,
  checkWorkflowFunction,
  type JudgeType,
} from '../functions/functions.js';
import {
  isRowsFailed,
  rowPlayer,
  type Components,
  type PlayRows,
  type PromptWorkflowType,
} from './play-rows.js';
import type { Proposer } from './propose-prompt.js';
import { search } from './search.js';
import { digestOf, openState, pairedRewards, saveJson } from './search-state.js';

export interface PromptTuneConfig {
  /**
   * Model that rewrites texts: settings of a model behind a service (`baseUrl`), or an object with
   * `chat`.
   */
  readonly proposer: TunerModelFields | Proposer;
  /**
   * Level that determines the budget. The budget is a number of agent runs per selection row (light
   * 8, medium 20, heavy 50), for at least 4 rows.
   * @default "light"
   */
  readonly optimizationLevel?: 'light' | 'medium' | 'heavy';
  /**
   * Maximum number of times that the agent is run on training rows. It must suffice for one
   * attempt: for two runs on all selection rows and two on a batch. With fewer than three training
   * rows, a batch needs no more runs, because its rows are selection rows.
   * @default derived from `optimizationLevel`
   */
  readonly maxCalls?: number;
  /**
   * Number of rows that the proposer sees per attempt. A new text must do better on them before it
   * runs on the selection rows.
   * @default 3
   */
  readonly batchSize?: number;
  /** Highest reward that matters: rows that reach it need no improvement. @default 1 */
  readonly perfectReward?: number;
  /**
   * Folder for the state of the search and for the result, `prompt.json`. An interrupted search
   * continues from the state. Stored rewards are reused even if the functions have changed, so use
   * another folder for a judge that scores differently.
   * @default no folder
   */
  readonly directory?: string;
  /** Maximum number of rows that run concurrently. @default 16 */
  readonly evalNumThreads?: number;
  /** True to compare the initial and the best texts on `evalDataset`. @default true */
  readonly comparePerformance?: boolean;
  /** Seed for the random choices of the search. @default 42 */
  readonly seed?: number;
}

export interface TunePromptOptions<Row = RawTask, Response = unknown> {
  readonly workflowFunc: PromptWorkflowType<Row, Response>;
  /** Judge that returns a reward and `feedback`, from which the proposer learns. */
  readonly judgeFunc: JudgeType<Row, Response>;
  readonly initSystemPrompt: string;
  /**
   * Texts to tune in addition to the system prompt, keyed by name, such as `tool:search`. The name
   * `system` is that of the system prompt.
   * @default no further texts
   */
  readonly components?: Components;
  /** Data set to search on. `totalSteps` limits the number of rows. */
  readonly trainDataset: DatasetFields;
  readonly evalDataset?: DatasetFields;
  readonly config: PromptTuneConfig;
  /** Logger for failed rows and for every attempt. @default no log */
  readonly logger?: Logger;
  readonly cwd?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface TunedPrompt {
  /** Best system prompt that was found. */
  readonly prompt: string;
  /** Best texts that were found, keyed by name. */
  readonly components: Components;
  /**
   * Metrics of the search. `trainset_reward` and `trainset_reward_best` are the mean rewards of the
   * initial and the best texts, on the selection rows on which neither failed. `prompts_tried` is
   * the number of attempts. The others are `prompts_kept`, `calls` and `failed_rows`. If the texts
   * are compared on an evaluation set, and a row succeeds with both, there are also `valset_reward`
   * and `valset_reward_best`; the 95 % interval of the difference, `valset_difference_low` and
   * `valset_difference_high`, if there are enough rows; and `valset_improvement` in percent, unless
   * `valset_reward` is 0.
   */
  readonly metrics: Metrics;
}

/** Number of agent runs per selection row, for each optimization level. */
const levels = { light: 8, medium: 20, heavy: 50 } as const;
/**
 * Maximum number of selection rows. A third of the training rows, up to this number, is used for
 * selection. The remaining rows are feedback rows, which the proposer may see.
 */
const mostSelectionRows = 40;

const schema = z.strictObject({
  proposer: z.looseObject({}),
  optimizationLevel: z.enum(['light', 'medium', 'heavy']).default('light'),
  maxCalls: count.optional(),
  batchSize: count.default(3),
  perfectReward: z.number().default(1),
  directory: z.string().optional(),
  evalNumThreads: count.default(16),
  comparePerformance: z.boolean().default(true),
  seed: z.int().min(0).default(42),
});

/**
 * Searches for better texts by improving one text at a time. The proposer sees a few tasks with
 * responses, rewards and feedback, and rewrites the text. The new text is kept if it does better on
 * the same tasks. Returns the texts with the largest mean gain in reward over the initial texts on
 * the selection rows. The proposer does not see these rows, unless there are fewer than three
 * training rows. Rows that fail are not counted, and a text with which most selection rows fail is
 * not kept.
 * @throws ConfigError or InvalidFunctionError for invalid arguments, or a directory of another
 * search; TaskError for an invalid data set; ModelError if the proposer fails; WorkflowError if all
 * rows fail
 */
export async function tunePrompt<Row = RawTask, Response = unknown>(
  options: TunePromptOptions<Row, Response>,
): Promise<TunedPrompt> {
  checkOptions(
    'tunePrompt()',
    options,
    'initSystemPrompt components trainDataset evalDataset config logger',
  );
  checkWorkflowFunction(options.workflowFunc);
  checkJudgeFunction(options.judgeFunc);
  const config = checkFields('PromptTuneConfig', schema, options.config);
  const { logger = silentLogger, clock = systemClock, cwd } = options;
  const { signal = new AbortController().signal } = options;
  const { seed, batchSize, perfectReward, directory: folder } = config;
  const { system = options.initSystemPrompt } = options.components ?? {};
  if (system !== options.initSystemPrompt)
    throw new ConfigError(
      'tunePrompt(): components.system differs from initSystemPrompt, but both are the system prompt. Leave it out.',
      { code: 'ARGUMENTS_CONFLICT' },
    );
  const first: Components = { system: options.initSystemPrompt, ...options.components };
  const read = async (dataset: DatasetFields): Promise<readonly RawTask[]> => {
    const known = DatasetConfig(dataset);
    return (await readDataset(known, cwd, signal)).slice(0, known.totalSteps);
  };
  const rows = await read(options.trainDataset);
  const evalRows =
    options.evalDataset && config.comparePerformance ? await read(options.evalDataset) : undefined;
  const runtime = createRuntime({ seed, clock, logger });
  const { selection, feedback } = split(runtime.random('rows').shuffle([...rows.keys()]));
  const play = rowPlayer({ ...options, logger, clock, signal, threads: config.evalNumThreads });
  const state = openState(folder, digestOf([first, rows, seed, batchSize, perfectReward]), first);
  const best = await search(state, {
    ...{ rows, selection, feedback, play, batchSize, perfectReward, folder, runtime, signal },
    proposer: toProposer(options.config.proposer, signal),
    maxCalls: config.maxCalls ?? levels[config.optimizationLevel] * Math.max(4, selection.length),
  });
  const { components } = state.candidates[best]!;
  const rewards = pairedRewards(state.candidates[0]!, state.candidates[best]!, selection);
  const metrics = {
    trainset_reward: mean(rewards.map(([before]) => before)),
    trainset_reward_best: mean(rewards.map(([, after]) => after)),
    prompts_tried: state.attempts,
    prompts_kept: state.candidates.length - 1,
    calls: state.calls,
    failed_rows: state.candidates
      .flatMap(({ played }) => Object.values(played))
      .filter(({ reward }) => reward === undefined).length,
  };
  const result = (more: Metrics): TunedPrompt => {
    const prompt = components['system'] ?? '';
    const tuned = { prompt, components, metrics: { ...metrics, ...more } };
    if (folder !== undefined) saveJson(folder, 'prompt.json', tuned);
    return tuned;
  };
  const tuned = result({});
  return evalRows ? result(await compare(play, evalRows, first, components, logger)) : tuned;
}

/**
 * Splits rows into selection and feedback rows. With fewer than three rows, all rows are used for
 * both.
 */
function split(order: readonly number[]) {
  const count = Math.min(mostSelectionRows, Math.ceil(order.length / 3));
  if (order.length < 3) return { selection: order, feedback: order };
  return { selection: order.slice(0, count), feedback: order.slice(count) };
}

/**
 * Compares the initial and the best texts, paired by row, on rows that the search never used. Logs
 * a warning and returns no metrics if no row succeeds with both.
 */
async function compare(
  playRows: PlayRows,
  rows: readonly RawTask[],
  first: Components,
  best: Components,
  logger: Logger,
): Promise<Metrics> {
  let cause = '.';
  const play = (texts: Components) =>
    playRows(texts, rows).catch((error: unknown) => {
      if (!isRowsFailed(error)) throw error;
      cause = `: ${describeError(error)}`;
      return [];
    });
  const before = await play(first);
  const isDone = before.length === 0 || JSON.stringify(first) === JSON.stringify(best);
  const after = isDone ? before : await play(best);
  const both = pairedRewards({ played: before }, { played: after }, [...rows.keys()]);
  if (both.length === 0) {
    logger.warn(
      `No row of evalDataset succeeded with both the initial and the best texts, so they are not compared${cause}`,
    );
    return {};
  }
  const [firstRewards, bestRewards] = [both.map(([reward]) => reward), both.map(([, r]) => r)];
  const [low, high] = [mean(firstRewards), mean(bestRewards)];
  const { interval } = pairedDifference(firstRewards, bestRewards);
  return {
    valset_reward: low,
    valset_reward_best: high,
    ...(interval && {
      valset_difference_low: interval.low,
      valset_difference_high: interval.high,
    }),
    ...(low !== 0 && { valset_improvement: (100 * (high - low)) / Math.abs(low) }),
  };
}

function toProposer(proposer: TunerModelFields | Proposer, signal: AbortSignal): Proposer {
  if ('chat' in proposer) return proposer;
  const model = TunerModelConfig(proposer);
  if (model.baseUrl === undefined)
    throw new ConfigError(
      'PromptTuneConfig.proposer: a model folder is not supported. ' +
        'Set baseUrl of an OpenAI-compatible service, or pass an object with chat().',
      { code: 'PROPOSER_NOT_REMOTE' },
    );
  return remoteModel(model, { baseURL: model.baseUrl, timeoutMs: 600_000, signal });
}
