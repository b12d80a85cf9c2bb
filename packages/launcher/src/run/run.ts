/** A whole run: configuration, plugins, lock, and the stages in order. */
import type { Definition } from '@trinity-rft/algorithm';
import type { LoadedConfig, ResolvedConfig } from '@trinity-rft/config';
import { systemClock, type Clock } from '@trinity-rft/core';
import {
  createRewardRegistry,
  createWorkflowRegistry,
  type RewardDefinition,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { assertTrainable } from '../assembly/algorithm.js';
import type { Terminal } from '../assembly/monitor.js';
import { loadExtensions, readConfiguration, type Extensions } from './configuration.js';
import type { ServeOptions, StageResult } from '../context/stage-context.js';
import { catchStrays } from './failure.js';
import { lockRun } from './lock.js';
import { checkData, runStage, type Registries, type Surroundings } from './stage.js';
import { readStageProgress, writeStageProgress } from './progress.js';

export interface RunOptions {
  /** YAML file, or what `parseConfig` made of something else, with the same algorithms. */
  readonly configPath: string | Pick<LoadedConfig, 'config' | 'warnings'>;
  /** Directories whose modules export workflows, reward functions and algorithms. @default none */
  readonly pluginDirs?: readonly string[];
  /** More workflows and reward functions, for programs. */
  readonly workflows?: readonly WorkflowDefinition[];
  readonly rewardFns?: readonly RewardDefinition[];
  /** More algorithms and parts of them, for programs. */
  readonly algorithms?: readonly Definition[];
  /** Where progress goes. */
  readonly terminal: Terminal;
  /**
   * Interrupts: the step in progress is finished, a checkpoint written, and the run can be resumed.
   */
  readonly signal?: AbortSignal;
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default the working directory of the process */
  readonly cwd?: string;
  /** @default the system clock */
  readonly clock?: Clock;
  /** For stages of mode `serve`. */
  readonly serve?: ServeOptions;
}

export interface RunSummary {
  readonly interrupted: boolean;
  /** An earlier process ended the run, and nothing was left to do. */
  readonly doneBefore: boolean;
  readonly jobDirectory: string;
  /** Of the stage that ran last. */
  readonly trainStep: number;
  /** Folder of the last checkpoint; undefined when nothing trained. */
  readonly checkpoint: string | undefined;
}

/**
 * Runs, or resumes, what `configPath` describes. Until it resolves, the process catches errors that
 * nobody else catches.
 * @throws ConfigError and TaskError for what the user can mend, other errors for the rest
 */
export async function run(options: RunOptions): Promise<RunSummary> {
  const { terminal, clock = systemClock } = options;
  const {
    loaded: { config, warnings },
    plugins,
    algorithms,
  } = await readAll(options);
  for (const warning of warnings) terminal.write(`${warning}\n`);
  const registries: Registries = {
    workflows: createWorkflowRegistry([...plugins.workflows, ...(options.workflows ?? [])]),
    rewardFns: createRewardRegistry([...plugins.rewardFns, ...(options.rewardFns ?? [])]),
    algorithms,
  };
  assertNamesKnown(config, registries);
  assertTrainable(config.stages, { algorithms });

  const unlock = await lockRun(
    config.jobDirectory,
    options.serve?.train === false ? 'serve' : 'run',
  );
  const strays = catchStrays((line) => terminal.write(`${line}\n`));
  try {
    const { signal = new AbortController().signal, env = process.env, serve } = options;
    return await runStages(config, {
      terminal,
      clock,
      signal,
      env,
      registries,
      ...(serve && { serve }),
    });
  } finally {
    strays.stop();
    await unlock();
  }
}

async function readAll(
  options: RunOptions,
): Promise<Extensions & { readonly loaded: Pick<LoadedConfig, 'config' | 'warnings'> }> {
  const { configPath } = options;
  if (typeof configPath === 'string') return readConfiguration({ ...options, configPath });
  return { ...(await loadExtensions(options)), loaded: configPath };
}

/** Wrong names are found before anything starts. */
function assertNamesKnown(config: ResolvedConfig, { workflows, rewardFns }: Registries): void {
  for (const { buffer } of config.stages) {
    for (const taskset of [
      ...buffer.explorerInput.tasksets,
      ...buffer.explorerInput.evalTasksets,
    ]) {
      if (taskset.workflow !== undefined) workflows.get(taskset.workflow);
      if (taskset.rewardFn !== undefined)
        rewardFns.get(taskset.rewardFn).create(taskset.rewardFnArgs);
    }
  }
}

/** Stages that ended before are passed over, except the last: it may have become longer. */
async function runStages(config: ResolvedConfig, surroundings: Surroundings): Promise<RunSummary> {
  const { jobDirectory, stages } = config;
  const { latestStage } = await readStageProgress(jobDirectory);
  // Neither is part of the run whose checkpoints are used.
  const isGuest =
    stages.every(({ mode }) => mode === 'bench') || surroundings.serve?.train === false;
  const save = async (stage: number): Promise<void> => {
    if (!isGuest) await writeStageProgress(jobDirectory, { latestStage: stage });
  };
  const remaining = stages.slice(Math.min(latestStage, stages.length - 1));
  for (const stage of remaining.slice(1)) await checkData({ stage, ...surroundings });
  let last: StageResult = {
    interrupted: false,
    doneBefore: true,
    trainStep: 0,
    checkpoint: undefined,
  };
  for (const stage of remaining) {
    const endedBefore = stage.stageIndex < latestStage;
    if (!endedBefore) await save(stage.stageIndex);
    last = await runStage({ config, stage, endedBefore, ...surroundings });
    if (last.interrupted) break;
    if (!endedBefore) await save(stage.stageIndex + 1);
  }
  return { ...last, jobDirectory };
}
