/** A whole run: lock, log, monitor, the stages in order, and what is left behind. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { loadConfig, type ResolvedConfig, type StageConfig } from '@trinity-rft/config';
import { CheckpointError, createRuntime, describeError, systemClock, type Clock } from '@trinity-rft/core';
import { listCheckpoints } from '@trinity-rft/trainer';
import { createRewardRegistry, createWorkflowRegistry, type RewardDefinition, type WorkflowDefinition } from '@trinity-rft/workflow';
import { resolveModelFolder } from './build/model-folder.js';
import { openMonitor, type Terminal } from './build/monitor.js';
import type { StageContext, StageResult } from './context.js';
import { runBench } from './modes/bench.js';
import { runBoth } from './modes/both.js';
import { runTrain } from './modes/train.js';
import { loadPlugins } from './plugins.js';
import { lockRun } from './run-lock.js';
import { readStageProgress, writeStageProgress } from './stage-progress.js';

export interface RunOptions {
  /** YAML file. */
  readonly configPath: string;
  /** Directories whose modules export workflows and reward functions. @default none */
  readonly pluginDirs?: readonly string[];
  /** More workflows and reward functions, for programs. */
  readonly workflows?: readonly WorkflowDefinition[];
  readonly rewardFns?: readonly RewardDefinition[];
  /** Where progress goes; `columns` undefined means it is not a terminal. */
  readonly terminal: Terminal;
  /** Interrupts: the step in progress is finished, a checkpoint written, and the run can be resumed. */
  readonly signal?: AbortSignal;
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default the working directory of the process */
  readonly cwd?: string;
  /** @default the system clock */
  readonly clock?: Clock;
}

export interface RunSummary {
  readonly interrupted: boolean;
  readonly jobDirectory: string;
  /** Of the stage that ran last. */
  readonly trainStep: number;
  /** Folder of the last checkpoint; undefined when nothing trained. */
  readonly checkpoint: string | undefined;
}

const modes: Readonly<Record<StageConfig['mode'], (context: StageContext) => Promise<StageResult>>> = { both: runBoth, train: runTrain, bench: runBench };

/** Runs, or resumes, what `configPath` describes. @throws ConfigError and TaskError for what the user can mend, other errors for the rest */
export async function run(options: RunOptions): Promise<RunSummary> {
  const clock = options.clock ?? systemClock;
  const { config, warnings } = await loadConfig(options.configPath, {
    timestamp: timestamp(clock),
    ...(options.env && { env: options.env }),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  for (const warning of warnings) options.terminal.write(`${warning}\n`);
  const plugins = await loadPlugins(options.pluginDirs ?? []);
  const workflows = createWorkflowRegistry([...plugins.workflows, ...(options.workflows ?? [])]);
  const rewardFns = createRewardRegistry([...plugins.rewardFns, ...(options.rewardFns ?? [])]);
  assertNamesKnown(config, { workflows, rewardFns });

  const unlock = await lockRun(config.jobDirectory);
  const leftover = catchStrayRejections(options.terminal);
  try {
    return await runStages(config, { ...options, clock }, { workflows, rewardFns });
  } finally {
    leftover.stop();
    await unlock();
  }
}

type Registries = Pick<StageContext, 'workflows' | 'rewardFns'>;

/** Wrong names are found before anything starts. */
function assertNamesKnown(config: ResolvedConfig, { workflows, rewardFns }: Registries): void {
  for (const { buffer } of config.stages) {
    for (const taskset of [...buffer.explorerInput.tasksets, ...buffer.explorerInput.evalTasksets]) {
      if (taskset.workflow !== undefined) workflows.get(taskset.workflow);
      if (taskset.rewardFn !== undefined) rewardFns.get(taskset.rewardFn).create(taskset.rewardFnArgs);
    }
  }
}

async function runStages(config: ResolvedConfig, options: RunOptions & { readonly clock: Clock }, registries: Registries): Promise<RunSummary> {
  const { latestStage } = await readStageProgress(config.jobDirectory);
  let last: StageResult = { interrupted: false, trainStep: 0, checkpoint: undefined };
  for (const stage of config.stages) {
    if (config.stages.length > 1 && stage.stageIndex < latestStage) continue;
    if (config.stages.length > 1) await writeStageProgress(config.jobDirectory, { latestStage: stage.stageIndex });
    last = await runStage(config, stage, options, registries);
    if (last.interrupted) break;
  }
  if (config.stages.length > 1 && !last.interrupted) await writeStageProgress(config.jobDirectory, { latestStage: config.stages.length });
  return { interrupted: last.interrupted, jobDirectory: config.jobDirectory, trainStep: last.trainStep, checkpoint: last.checkpoint };
}

async function runStage(config: ResolvedConfig, stage: StageConfig, options: RunOptions & { readonly clock: Clock }, registries: Registries): Promise<StageResult> {
  await mkdir(stage.jobDirectory, { recursive: true });
  const { clock } = options;
  const signal = options.signal ?? new AbortController().signal;
  const monitor = openMonitor(stage, { terminal: options.terminal, clock, env: options.env ?? process.env });
  const runtime = createRuntime({ seed: stage.seed, clock, logger: monitor.logger });
  try {
    runtime.logger.info(`Stage ${stage.stageName ?? stage.mode}: ${stage.jobDirectory}`);
    return await modes[stage.mode]({
      stage,
      startModel: await startModelOf(config, stage),
      runtime,
      openSink: monitor.openSink,
      signal,
      expectSteps: monitor.expectSteps,
      ...registries,
    });
  } catch (error) {
    runtime.logger.error(`The run failed: ${describeError(error)}`);
    await writeFile(path.join(stage.jobDirectory, 'failure.txt'), `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    throw error;
  } finally {
    await monitor.close();
  }
}

async function startModelOf(config: ResolvedConfig, stage: StageConfig): Promise<string> {
  if (!stage.model.fromPreviousStage) return resolveModelFolder(stage);
  const previous = config.stages[stage.stageIndex - 1];
  const checkpoint = previous && (await listCheckpoints(previous.jobDirectory)).at(-1);
  if (checkpoint) return checkpoint.directory;
  throw new CheckpointError(
    `Stage "${stage.stageName}" starts from the checkpoint of the stage before, but ${previous?.jobDirectory ?? 'there'} has none. Delete stage_meta.json to begin at the first stage.`,
    { code: 'STAGE_CHECKPOINT_MISSING' },
  );
}

/** A promise that a user's agent left behind must not end the run; it is reported, once per message. */
function catchStrayRejections(terminal: Terminal): { stop(): void } {
  const seen = new Set<string>();
  const report = (reason: unknown): void => {
    const text = describeError(reason);
    if (seen.has(text)) return;
    seen.add(text);
    terminal.write(`A promise that nobody awaits was rejected (in a workflow?): ${text}\n`);
  };
  process.on('unhandledRejection', report);
  return { stop: () => void process.off('unhandledRejection', report) };
}

/** `20260701093000`, in UTC. */
function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString().replaceAll(/\D/g, '').slice(0, 14);
}
