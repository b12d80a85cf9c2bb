/** `tunePrompt`: searches for a better system prompt of a workflow. Weights are not trained. */
import {
  ConfigError,
  createRuntime,
  type Clock,
  type Logger,
  type Metrics,
  type RawTask,
  type Runtime,
  silentLogger,
  systemClock,
} from '@trinity-rft/core';
import { createRemoteModel } from '@trinity-rft/workflow';
import { z } from 'zod';
import { DatasetConfig, type DatasetFields } from '../config/dataset-config.js';
import { TunerModelConfig, type TunerModelFields } from '../config/model-config.js';
import { checkFields, count } from '../config/fields.js';
import {
  checkJudgeFunction,
  checkWorkflowFunction,
  type JudgeType,
} from '../functions/functions.js';
import { createEvaluator, type Evaluation, type PromptWorkflowType } from './evaluate-prompt.js';
import { proposePrompt, type Proposer } from './propose-prompt.js';

export interface PromptTuneConfig {
  /** The model that writes prompts: one of a service with `baseUrl`, or an object with `chat`. */
  readonly proposer: TunerModelFields | Proposer;
  /** Number of prompts to try: light 6, medium 20, heavy 60. @default "light" */
  readonly optimizationLevel?: 'light' | 'medium' | 'heavy';
  /** Rows that run concurrently. @default 16 */
  readonly evalNumThreads?: number;
  /** True to compare the first and the best prompt on `evalDataset`. @default true */
  readonly comparePerformance?: boolean;
  /** Seed for choosing among rows of equal reward. @default 42 */
  readonly seed?: number;
}

export interface TunePromptOptions<Row = RawTask, Response = unknown> {
  readonly workflowFunc: PromptWorkflowType<Row, Response>;
  readonly judgeFunc: JudgeType<Row, Response>;
  readonly initSystemPrompt: string;
  /** `totalSteps` limits the number of rows. */
  readonly trainDataset: DatasetFields;
  readonly evalDataset?: DatasetFields;
  readonly config: PromptTuneConfig;
  /** Logs failed rows and the reward of every prompt. @default silent */
  readonly logger?: Logger;
  readonly cwd?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface TunedPrompt {
  readonly prompt: string;
  /**
   * `trainset_reward` (of the first prompt), `trainset_reward_best` and `prompts_tried`; with an
   * evaluation set also `valset_reward`, `valset_reward_best` and, unless the first is 0,
   * `valset_improvement` in percent.
   */
  readonly metrics: Metrics;
}

/** Number of rounds, and of prompts that each round tries. */
const levels = {
  light: { rounds: 3, proposals: 2 },
  medium: { rounds: 5, proposals: 4 },
  heavy: { rounds: 10, proposals: 6 },
} as const;

const schema = z.object({
  optimizationLevel: z.enum(['light', 'medium', 'heavy']).default('light'),
  evalNumThreads: count.default(16),
  comparePerformance: z.boolean().default(true),
  seed: z.int().min(0).default(42),
});

/**
 * In each round the proposer sees the best prompt, its worst rows and the rewards of all prompts,
 * and writes new ones. The prompt with the best mean reward on the training rows wins; failed rows
 * count as reward 0.
 * @throws ConfigError or InvalidFunctionError for invalid arguments; TaskError for the data set;
 * ModelError of the proposer
 */
export async function tunePrompt<Row = RawTask, Response = unknown>(
  options: TunePromptOptions<Row, Response>,
): Promise<TunedPrompt> {
  checkWorkflowFunction(options.workflowFunc);
  checkJudgeFunction(options.judgeFunc);
  const config = checkFields('PromptTuneConfig', schema, options.config);
  const { logger = silentLogger, clock = systemClock, evalDataset, initSystemPrompt } = options;
  const { signal = new AbortController().signal } = options;
  const evaluator = { ...options, logger, signal, threads: config.evalNumThreads };
  const onTrain = await createEvaluator(evaluator, DatasetConfig(options.trainDataset));
  const first = await onTrain(initSystemPrompt);
  const { best, tried } = await search(first, {
    ...levels[config.optimizationLevel],
    evaluate: onTrain,
    proposer: toProposer(options.config.proposer, signal),
    runtime: createRuntime({ seed: config.seed, clock, logger }),
    signal,
  });
  const metrics = {
    trainset_reward: first.reward,
    trainset_reward_best: best.reward,
    prompts_tried: tried,
  };
  if (!evalDataset || !config.comparePerformance) return { prompt: best.prompt, metrics };
  const onEval = await createEvaluator(evaluator, DatasetConfig(evalDataset));
  const before = (await onEval(initSystemPrompt)).reward;
  const after = best === first ? before : (await onEval(best.prompt)).reward;
  return { prompt: best.prompt, metrics: { ...metrics, ...evalMetrics(before, after) } };
}

interface SearchOptions {
  readonly rounds: number;
  /** Prompts per round. */
  readonly proposals: number;
  readonly evaluate: (prompt: string) => Promise<Evaluation>;
  readonly proposer: Proposer;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

async function search(
  first: Evaluation,
  { rounds, proposals, evaluate, proposer, runtime, signal }: SearchOptions,
): Promise<{ readonly best: Evaluation; readonly tried: number }> {
  const tried = [first];
  let best = first;
  for (let round = 0; round < rounds; round++) {
    const bestOfLastRound = best;
    for (let i = 0; i < proposals; i++) {
      const random = runtime.random('failures', round, i);
      const prompt = await proposePrompt(proposer, {
        best: bestOfLastRound,
        tried,
        random,
        signal,
      });
      if (tried.some((other) => other.prompt === prompt)) continue;
      const evaluation = await evaluate(prompt);
      runtime.logger.info(`Prompt ${tried.length}: reward ${evaluation.reward.toFixed(3)}`);
      tried.push(evaluation);
      if (evaluation.reward > best.reward) best = evaluation;
    }
  }
  return { best, tried: tried.length };
}

function evalMetrics(before: number, after: number): Metrics {
  const rewards = { valset_reward: before, valset_reward_best: after };
  if (before === 0) return rewards;
  return { ...rewards, valset_improvement: (100 * (after - before)) / Math.abs(before) };
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
