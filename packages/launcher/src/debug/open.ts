/**
 * What all debug commands begin with: a configuration, its plugins, and the stage and weights to
 * debug with.
 */
import path from 'node:path';
import type { Definition } from '@trinity-rft/algorithm';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { createRuntime, systemClock, type Clock } from '@trinity-rft/core';
import { listCheckpoints } from '@trinity-rft/trainer';
import {
  createRewardRegistry,
  createWorkflowRegistry,
  type RewardDefinition,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { resolveModelFolder } from '../assembly/models/model-folder.js';
import { readConfiguration } from '../run/configuration.js';
import type { StageContext } from '../context/stage-context.js';
import { exploringStage } from './rollouts.js';
import { collectNotices } from './notices.js';

export interface DebugOptions {
  /** YAML file. */
  readonly configPath: string;
  /** Directories whose modules export workflows, reward functions and algorithms. @default none */
  readonly pluginDirs?: readonly string[];
  /** More workflows and reward functions, for programs. */
  readonly workflows?: readonly WorkflowDefinition[];
  readonly rewardFns?: readonly RewardDefinition[];
  /** More algorithms and parts of them, for programs. */
  readonly algorithms?: readonly Definition[];
  /**
   * Where the command leaves files, and where a served model is found again.
   * @default "debug_output"
   */
  readonly outputDirectory?: string;
  /** Take the newest checkpoint of the run instead of the model it begins with. @default false */
  readonly newestCheckpoint?: boolean;
  readonly signal?: AbortSignal;
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default the working directory of the process */
  readonly cwd?: string;
  /** @default the system clock */
  readonly clock?: Clock;
}

export interface DebugContext {
  readonly config: ResolvedConfig;
  readonly context: StageContext;
  /** Warnings of the configuration, then what was logged, which goes on growing. */
  readonly notices: readonly string[];
}

/** Nothing of the run's folder is changed. @throws ConfigError */
export async function openDebugContext(options: DebugOptions): Promise<DebugContext> {
  const { clock = systemClock } = options;
  const {
    loaded: { config, warnings },
    plugins,
    algorithms,
  } = await readConfiguration(options);
  const stage = exploringStage(config);
  const { logger, lines } = collectNotices();
  for (const warning of warnings) logger.warn(warning);
  const startModel =
    options.newestCheckpoint === true
      ? await newestWeights(config, stage)
      : await resolveModelFolder(config.stages[0] ?? stage);
  const context: StageContext = {
    stage: path.dirname(startModel) === stage.jobDirectory ? withoutAdapter(stage) : stage,
    startModel,
    endedBefore: false,
    runtime: createRuntime({ seed: stage.seed, clock, logger }),
    openSink: () => ({ write: () => undefined, close: () => Promise.resolve() }),
    workflows: createWorkflowRegistry([...plugins.workflows, ...(options.workflows ?? [])]),
    rewardFns: createRewardRegistry([...plugins.rewardFns, ...(options.rewardFns ?? [])]),
    algorithms,
    signal: options.signal ?? new AbortController().signal,
    expectSteps: () => undefined,
  };
  return { config, context, notices: lines };
}

/** Its checkpoints have the adapter in them. */
const withoutAdapter = (stage: StageConfig): StageConfig => ({
  ...stage,
  model: { ...stage.model, lora: undefined },
});

/** Of the stage, else of the stages before it, else what the run begins with. */
async function newestWeights(config: ResolvedConfig, stage: StageConfig): Promise<string> {
  for (const { jobDirectory } of config.stages.slice(0, stage.stageIndex + 1).toReversed()) {
    const newest = (await listCheckpoints(jobDirectory)).at(-1);
    if (newest) return newest.directory;
  }
  return resolveModelFolder(config.stages[0] ?? stage);
}
