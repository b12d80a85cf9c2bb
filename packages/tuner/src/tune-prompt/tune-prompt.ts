/** `tunePrompt`: searches for better texts of an agent, its system prompt above all. Weights are not trained. */
import {
  ConfigError,
  createRuntime,
  type Clock,
  type Logger,
  mean,
  type Metrics,
  type RawTask,
  silentLogger,
  systemClock,
} from '@trinity-rft/core';
import { pairedDifference } from '@trinity-rft/explorer';
import { createRemoteModel } from '@trinity-rft/workflow';
import { z } from 'zod';
import { DatasetConfig, type DatasetFields } from '../config/dataset-config.js';
import { TunerModelConfig, type TunerModelFields } from '../config/model-config.js';
import { checkFields, count } from '../config/fields.js';
import { readDataset } from '../config/read-dataset.js';
import {
  checkJudgeFunction,
  checkWorkflowFunction,
  type JudgeType,
} from '../functions/functions.js';
import { rowPlayer, type Components, type PlayRows, type PromptWorkflowType } from './play-rows.js';
import type { Proposer } from './propose-prompt.js';
import { search } from './search.js';
import { digestOf, meanReward, openState, saveJson } from './search-state.js';

export interface PromptTuneConfig {
  /** The model that writes prompts: one of a service with `baseUrl`, or an object with `chat`. */
  readonly proposer: TunerModelFields | Proposer;
  /** Runs of the agent, in selection rows: light 8 times their number, medium 20, heavy 50. @default "light" */
  readonly optimizationLevel?: 'light' | 'medium' | 'heavy';
  /** Most runs of the agent on training rows. @default that of `optimizationLevel` */
  readonly maxCalls?: number;
  /** Rows that a new text has to do better on before it plays the selection rows. @default 3 */
  readonly batchSize?: number;
  /** A row with this reward has nothing to improve. @default 1 */
  readonly perfectReward?: number;
  /**
   * Folder of the search, which a killed one is continued from, and of its result, `prompt.json`.
   * @default nothing is stored
   */
  readonly directory?: string;
  /** Rows that run concurrently. @default 16 */
  readonly evalNumThreads?: number;
  /** True to compare the first and the best texts on `evalDataset`. @default true */
  readonly comparePerformance?: boolean;
  /** Seed for every choice of the search. @default 42 */
  readonly seed?: number;
}

export interface TunePromptOptions<Row = RawTask, Response = unknown> {
  readonly workflowFunc: PromptWorkflowType<Row, Response>;
  /** Its `feedback` is what the proposer learns from. */
  readonly judgeFunc: JudgeType<Row, Response>;
  readonly initSystemPrompt: string;
  /** More texts to tune, by name, such as `tool:search`. @default the system prompt alone */
  readonly components?: Components;
  /** `totalSteps` limits the number of rows. */
  readonly trainDataset: DatasetFields;
  readonly evalDataset?: DatasetFields;
  readonly config: PromptTuneConfig;
  /** Logs failed rows and every attempt. @default silent */
  readonly logger?: Logger;
  readonly cwd?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface TunedPrompt {
  /** The system prompt. */
  readonly prompt: string;
  /** All texts by name. */
  readonly components: Components;
  /**
   * `trainset_reward` (of the first texts, on the selection rows), `trainset_reward_best`, `prompts_tried` (attempts),
   * `prompts_kept`, `calls` and `failed_rows`; with an evaluation set also `valset_reward`,
   * `valset_reward_best`, the bounds of the 95 % interval of their difference, `valset_difference_low` and
   * `valset_difference_high`, and, unless the first is 0, `valset_improvement` in percent.
   */
  readonly metrics: Metrics;
}

/** Runs of the agent for each selection row. */
const levels = { light: 8, medium: 20, heavy: 50 } as const;
/** A third of the training rows, at most so many, choose among candidates; the proposer sees the others. */
const mostSelectionRows = 40;

const schema = z.object({
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
 * Improves one text at a time: the proposer sees a few tasks with responses, rewards and feedback and
 * writes it anew; a text that does better on the same tasks is kept. The candidate with the best mean reward
 * on selection rows, which the proposer never sees, wins. Rows that fail count for no prompt.
 * @throws ConfigError or InvalidFunctionError for invalid arguments, or a directory of another search;
 * TaskError for the data set; ModelError of the proposer; WorkflowError when all rows fail
 */
export async function tunePrompt<Row = RawTask, Response = unknown>(
  options: TunePromptOptions<Row, Response>,
): Promise<TunedPrompt> {
  checkWorkflowFunction(options.workflowFunc);
  checkJudgeFunction(options.judgeFunc);
  const config = checkFields('PromptTuneConfig', schema, options.config);
  const { logger = silentLogger, clock = systemClock, cwd } = options;
  const { signal = new AbortController().signal } = options;
  const { seed, batchSize, perfectReward, directory: folder } = config;
  const first: Components = { system: options.initSystemPrompt, ...options.components };
  const read = async (dataset: DatasetFields): Promise<readonly RawTask[]> => {
    const known = DatasetConfig(dataset);
    return (await readDataset(known, cwd, signal)).slice(0, known.totalSteps);
  };
  const rows = await read(options.trainDataset);
  const runtime = createRuntime({ seed, clock, logger });
  const { selection, feedback } = split(runtime.random('rows').shuffle([...rows.keys()]));
  const play = rowPlayer({ ...options, logger, signal, threads: config.evalNumThreads });
  const state = openState(folder, digestOf([first, rows, seed, batchSize, perfectReward]), first);
  const best = await search(state, {
    ...{ rows, selection, feedback, play, batchSize, perfectReward, folder, runtime, signal },
    proposer: toProposer(options.config.proposer, signal),
    maxCalls: config.maxCalls ?? levels[config.optimizationLevel] * Math.max(4, selection.length),
  });
  const { components } = state.candidates[best]!;
  const metrics = {
    trainset_reward: meanReward(state.candidates[0]!, selection),
    trainset_reward_best: meanReward(state.candidates[best]!, selection),
    prompts_tried: state.attempts,
    prompts_kept: state.candidates.length - 1,
    calls: state.calls,
    failed_rows: state.candidates
      .flatMap(({ played }) => Object.values(played))
      .filter(({ reward }) => reward === undefined).length,
    ...(options.evalDataset &&
      config.comparePerformance &&
      (await compare(play, await read(options.evalDataset), first, components))),
  };
  const tuned = { prompt: components['system'] ?? '', components, metrics };
  if (folder !== undefined) saveJson(folder, 'prompt.json', tuned);
  return tuned;
}

/** With too few rows for two parts, both parts are all of them. */
function split(order: readonly number[]) {
  const count = Math.min(mostSelectionRows, Math.ceil(order.length / 3));
  if (order.length < 3) return { selection: order, feedback: order };
  return { selection: order.slice(0, count), feedback: order.slice(count) };
}

/** First and best texts on rows of which neither proposer nor selection knows, row by row. */
async function compare(
  play: PlayRows,
  rows: readonly RawTask[],
  first: Components,
  best: Components,
): Promise<Metrics> {
  const isSame = JSON.stringify(first) === JSON.stringify(best);
  const before = await play(first, rows);
  const after = isSame ? before : await play(best, rows);
  const both = before.flatMap(({ reward }, i) => {
    const other = after[i]?.reward;
    return reward === undefined || other === undefined ? [] : [[reward, other] as const];
  });
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
  const {
    baseUrl,
    apiKey = 'EMPTY',
    modelPath,
    temperature,
    topP,
    maxTokens,
  } = TunerModelConfig(proposer);
  if (baseUrl === undefined)
    throw new ConfigError(
      'PromptTuneConfig.proposer: a model folder is not supported. ' +
        'Set baseUrl of an OpenAI-compatible service, or pass an object with chat().',
      { code: 'PROPOSER_NOT_REMOTE' },
    );
  return createRemoteModel({
    baseURL: baseUrl,
    apiKey,
    modelPath,
    defaults: { temperature, topP, maxTokens },
    timeoutMs: 600_000,
    signal,
  });
}
