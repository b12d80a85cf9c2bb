/** One stage: its log and monitor, its mode, and what it leaves behind when it fails. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { CheckpointError, createRuntime, describeError, type Clock } from '@trinity-rft/core';
import { sharedMathChecker } from '@trinity-rft/reward';
import { listCheckpoints } from '@trinity-rft/trainer';
import { setEnvironment } from '../assembly/environment.js';
import { warnOfGivenUp } from '../assembly/math-warnings.js';
import { resolveModelFolder } from '../assembly/models/model-folder.js';
import { openMonitor, type Terminal } from '../assembly/monitor.js';
import { openTasks } from '../assembly/data/tasks.js';
import { checkTrainingData } from '../assembly/data/training-data.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { failureFile, firstCause, isInterrupt, writeFailure } from './failure.js';
import { runBench } from '../modes/bench.js';
import { runBoth } from '../modes/both.js';
import { runServe } from '../modes/serve.js';
import { runTrain } from '../modes/train.js';

export type Registries = Pick<StageContext, 'workflows' | 'rewardFns' | 'algorithms'>;

/** What all stages of a run share. */
export interface Surroundings {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly registries: Registries;
  readonly serve?: StageContext['serve'];
}

interface StageOptions extends Surroundings {
  readonly config: ResolvedConfig;
  readonly stage: StageConfig;
  readonly endedBefore: boolean;
}

const modes: Readonly<
  Record<StageConfig['mode'], (context: StageContext) => Promise<StageResult>>
> = {
  both: runBoth,
  train: runTrain,
  bench: runBench,
  serve: runServe,
};

/**
 * Runs or resumes a stage. Rejects with the first cause, which is also in the log and in
 * `failure.txt`.
 */
export async function runStage({
  config,
  stage: planned,
  endedBefore,
  terminal,
  clock,
  signal,
  env,
  registries,
  serve,
}: StageOptions): Promise<StageResult> {
  const stage = serve?.train === false ? apart(planned) : planned;
  const { jobDirectory } = stage;
  await mkdir(jobDirectory, { recursive: true });
  await rm(path.join(jobDirectory, failureFile), { force: true });
  const monitor = openMonitor(stage, { terminal, clock, env });
  const runtime = createRuntime({ seed: stage.seed, clock, logger: monitor.logger });
  const restoreEnvironment = setEnvironment(stage.explorer.envVars);
  const stopWarning = warnOfGivenUp(sharedMathChecker, runtime.logger);
  try {
    runtime.logger.info(`Stage ${stage.stageName ?? stage.mode}: ${jobDirectory}`);
    if (signal.aborted) return await interrupted(jobDirectory);
    const startModel = await startModelOf(config, stage);
    return await modes[stage.mode]({
      stage,
      startModel,
      endedBefore,
      runtime,
      openSink: (resume) => monitor.openSink(resume),
      signal,
      expectSteps: (total) => monitor.expectSteps(total),
      ...registries,
      ...(serve && { serve }),
    });
  } catch (thrown) {
    const error = firstCause(thrown);
    if (isInterrupt(error, signal)) return await interrupted(jobDirectory);
    // Who called tells the console.
    monitor.fileLogger.error(`The run failed: ${describeError(error)}`);
    await writeFailure(jobDirectory, error);
    throw error;
  } finally {
    stopWarning();
    restoreEnvironment();
    await monitor.close();
  }
}

/** Log and metrics of a server, where another process has those of the run. */
function apart(stage: StageConfig): StageConfig {
  const folder = path.join(stage.jobDirectory, 'serve');
  return {
    ...stage,
    log: { ...stage.log, directory: path.join(folder, 'log') },
    monitor: { ...stage.monitor, directory: path.join(folder, 'monitor') },
  };
}

/**
 * Reads the data of a stage that comes later, so that its mistakes are found before hours of work;
 * an interrupt ends it.
 * @throws TaskError
 */
export async function checkData({
  stage,
  signal,
  registries,
}: Pick<StageOptions, 'stage' | 'signal' | 'registries'>): Promise<void> {
  try {
    const tasks = await openTasks({ stage, signal, ...registries });
    await tasks[Symbol.asyncDispose]();
    await checkTrainingData(stage, signal);
  } catch (error) {
    if (!isInterrupt(error, signal)) throw error;
  }
}

/** An interrupt while nothing trains: what is on the disk is all there is. */
async function interrupted(jobDirectory: string): Promise<StageResult> {
  const newest = (await listCheckpoints(jobDirectory)).at(-1);
  return {
    interrupted: true,
    doneBefore: false,
    trainStep: newest?.manifest.step ?? 0,
    checkpoint: newest?.directory,
  };
}

/**
 * The folder whose weights are version 0 of the stage.
 * @throws ConfigError, CheckpointError when it is not there
 */
export async function startModelOf(config: ResolvedConfig, stage: StageConfig): Promise<string> {
  if (!stage.model.fromPreviousStage) return resolveModelFolder(stage);
  const previous = config.stages[stage.stageIndex - 1];
  const checkpoint = previous && (await listCheckpoints(previous.jobDirectory)).at(-1);
  if (checkpoint) return checkpoint.directory;
  throw new CheckpointError(
    `Stage "${stage.stageName}" starts from the checkpoint of the stage before, but ${previous?.jobDirectory ?? 'there'} has none. Delete stage_meta.json to begin at the first stage.`,
    { code: 'STAGE_CHECKPOINT_MISSING' },
  );
}
