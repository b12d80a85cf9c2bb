/**
 * `tunePrompt`: searches for a system prompt that a workflow does better with. Weights stay as they
 * are.
 */
import {
  ConfigError,
  createRuntime,
  silentLogger,
  systemClock,
  type Clock,
  type Logger,
  type Metrics,
  type RawTask,
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
  /**
   * A model that writes prompts: an OpenAI-compatible service (`baseUrl`, `apiKey`), or anything
   * that can `chat`.
   */
  readonly proposer: TunerModelFields | Proposer;
  /** How many prompts are tried: light 6, medium 20, heavy 60. @default "light" */
  readonly optimizationLevel?: 'light' | 'medium' | 'heavy';
  /** Rows in progress at once. @default 16 */
  readonly evalNumThreads?: number;
  /** Whether first and last prompt are compared on `evalDataset`. @default true */
  readonly comparePerformance?: boolean;
  /** Of the choice of failures that the proposer sees. @default 42 */
  readonly seed?: number;
}

export interface TunePromptOptions<Row = RawTask, Response = unknown> {
  readonly workflowFunc: PromptWorkflowType<Row, Response>;
  readonly judgeFunc: JudgeType<Row, Response>;
  readonly initSystemPrompt: string;
  /** `totalSteps` bounds how many rows are run. */
  readonly trainDataset: DatasetFields;
  readonly evalDataset?: DatasetFields | undefined;
  readonly config: PromptTuneConfig;
  /** Hears of failed rows and of every prompt's reward. @default silent */
  readonly logger?: Logger;
  readonly cwd?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface TunedPrompt {
  readonly prompt: string;
  /**
   * `trainset_reward` of the first prompt and `trainset_reward_best`, `prompts_tried`; with an
   * evaluation set `valset_reward`, `valset_reward_best` and `valset_improvement`, in percent of
   * the former, which is left out where that is 0.
   */
  readonly metrics: Metrics;
}

/** Rounds, and prompts that each of them tries. */
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
 * and writes new ones; one with a better mean reward on the training rows takes the place of the
 * best. A row that fails counts as reward 0.
 * @throws ConfigError, InvalidFunctionError for what is wrong with the arguments; TaskError for the
 * data; ModelError of the proposer
 */
export async function tunePrompt<Row = RawTask, Response = unknown>(
  options: TunePromptOptions<Row, Response>,
): Promise<TunedPrompt> {
  checkWorkflowFunction(options.workflowFunc);
  checkJudgeFunction(options.judgeFunc);
  const config = checkFields('PromptTuneConfig', schema, options.config);
  const {
    logger = silentLogger,
    clock = systemClock,
    signal = new AbortController().signal,
  } = options;
  const runtime = createRuntime({ seed: config.seed, clock, logger });
  const evaluator = { ...options, logger, signal, threads: config.evalNumThreads };
  const onTrain = await createEvaluator(evaluator, DatasetConfig(options.trainDataset));
  const proposer = toProposer(options.config.proposer, signal);

  const tried: Evaluation[] = [await onTrain(options.initSystemPrompt)];
  let best = tried[0]!;
  const { rounds, proposals } = levels[config.optimizationLevel];
  for (let round = 0; round < rounds; round++) {
    const from = best;
    for (let i = 0; i < proposals; i++) {
      const prompt = await proposePrompt(proposer, {
        best: from,
        tried,
        random: runtime.random('failures', round, i),
        signal,
      });
      if (tried.some((other) => other.prompt === prompt)) continue;
      const evaluation = await onTrain(prompt);
      logger.info(`Prompt ${tried.length}: reward ${evaluation.reward.toFixed(3)}`);
      tried.push(evaluation);
      if (evaluation.reward > best.reward) best = evaluation;
    }
  }
  const trained = {
    trainset_reward: tried[0]!.reward,
    trainset_reward_best: best.reward,
    prompts_tried: tried.length,
  };
  if (!options.evalDataset || !config.comparePerformance)
    return { prompt: best.prompt, metrics: trained };
  const onEval = await createEvaluator(evaluator, DatasetConfig(options.evalDataset));
  const before = (await onEval(options.initSystemPrompt)).reward;
  const after = best === tried[0] ? before : (await onEval(best.prompt)).reward;
  const improvement: Metrics =
    before === 0 ? {} : { valset_improvement: (100 * (after - before)) / Math.abs(before) };
  return {
    prompt: best.prompt,
    metrics: { ...trained, valset_reward: before, valset_reward_best: after, ...improvement },
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
      'PromptTuneConfig.proposer: a model folder cannot write prompts here. Give baseUrl of an OpenAI-compatible service, or an object with chat().',
      {
        code: 'PROPOSER_NOT_REMOTE',
      },
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
