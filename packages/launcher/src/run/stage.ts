/** Executes one stage, with its log, monitor and failure files. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { createRuntime, describeError, type Clock } from '@trinity-rft/core';
import type { RunOutcome, Terminal } from '@trinity-rft/monitor';
import { sharedMathChecker } from '@trinity-rft/workflow/internal';
import { listCheckpoints } from '@trinity-rft/trainer';
import { setEnvironment, variablesOf } from '../assembly/environment.js';
import { rewardKeyOf } from '../assembly/models/endpoint.js';
import { warnOfUncheckedMath } from '../assembly/math-warnings.js';
import { withDevice } from '../assembly/models/device.js';
import { startModelOf } from '../assembly/models/model-folder.js';
import { openMonitor } from '../assembly/monitor.js';
import {
  stageResult,
  type ModeOptions,
  type StageContext,
  type StageResult,
} from '../context/stage-context.js';
import { runBench } from '../modes/bench.js';
import { runBoth } from '../modes/both.js';
import { runExplorer } from '../modes/explorer.js';
import { runServe } from '../modes/serve.js';
import { runTrain } from '../modes/train.js';
import { runTrainer } from '../modes/trainer.js';
import { watchProcess, type ProcessWatch } from '../watch/watch-process.js';
import { failureFile, firstCause, isInterrupt, writeFailure } from './failure.js';
import { failureFolder, ownFolder } from './folders.js';

/** Parts and options that all stages of a training run share. */
export interface StageSurroundings extends ModeOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface StageOptions extends StageSurroundings {
  readonly config: ResolvedConfig;
  readonly stage: StageConfig;
  readonly endedBefore: boolean;
  readonly hasBegun: boolean;
  /** Consequences of a changed configuration for the training run, one line each. */
  readonly changes: readonly string[];
  /**
   * Called when the stage is open, before its first step, with the stage in which the device has
   * been chosen.
   */
  readonly onStart: (stage: StageConfig) => void;
}

const modes: Readonly<
  Record<StageConfig['mode'], (context: StageContext) => Promise<StageResult>>
> = {
  both: (context) => loops[context.stage.part ?? 'both'](context),
  train: runTrain,
  bench: runBench,
  serve: runServe,
};

const loops = { both: runBoth, explore: runExplorer, train: runTrainer } as const;

/**
 * Starts or resumes a stage. Rejects with the first cause, which is also written to the log and to
 * `failure.txt`.
 */
export async function runStage(options: StageOptions): Promise<StageResult> {
  const { config, terminal, clock, signal, env, serve } = options;
  const own = ownFolder(options.stage, serve);
  const stage = own === undefined ? options.stage : withOwnLogs(options.stage, own);
  const { jobDirectory } = stage;
  const failures = failureFolder(options.stage, serve);
  await mkdir(failures, { recursive: true });
  await rm(path.join(failures, failureFile), { force: true });
  const { monitors } = options.extensions;
  const benched = options.evaluation?.label;
  const monitor = openMonitor(stage, { terminal, clock, env, monitors, benched });
  const runtime = createRuntime({ seed: stage.seed, clock, logger: monitor.logger });
  let outcome: RunOutcome = 'interrupted';
  let watched: ProcessWatch | undefined;
  const restoreEnvironment = setEnvironment(variablesOf(stage, env));
  const stopWarnings = warnOfUncheckedMath(sharedMathChecker, runtime.logger);
  try {
    runtime.logger.info(`Stage ${stage.stageName ?? stage.part ?? stage.mode}: ${jobDirectory}`);
    for (const change of options.changes) runtime.logger.warn(change);
    if (signal.aborted) return await interrupted(jobDirectory);
    await monitor.openServices(signal);
    if (stage.mode === 'both' && stage.part === undefined)
      watched = watchProcess(config.jobDirectory);
    const say = (line: string): void => {
      runtime.logger.info(line);
      terminal.write(`${line}\n`);
    };
    const startModel = await startModelOf(config, stage);
    const { engines } = options.extensions;
    // An explorer does not measure, because a trainer or other explorers may use the machine at the
    // same time.
    const measure = stage.part !== 'explore';
    const placed = await withDevice(stage, startModel, { engines, measure, report: say, signal });
    const result = await modes[stage.mode]({
      ...options,
      stage: placed,
      startModel,
      runtime,
      env: variablesOf(stage, env),
      openSink: (resume) => {
        options.onStart(placed);
        return monitor.openSink(resume);
      },
      expectSteps: (total) => monitor.expectSteps(total),
      onProgress: monitor.onProgress,
      watch: watched?.watch,
      onPause: watched?.onPause,
      say,
      rewardKey: rewardKeyOf(env),
    });
    outcome = result.interrupted ? 'interrupted' : 'finished';
    return result;
  } catch (thrown) {
    const error = firstCause(thrown);
    outcome = isInterrupt(error, signal) ? 'interrupted' : 'failed';
    if (isInterrupt(error, signal)) return await interrupted(jobDirectory);
    // The caller reports the error on the console.
    monitor.fileLogger.error(`The run failed: ${describeError(error)}`);
    await writeFailure(failures, error);
    throw error;
  } finally {
    watched?.close();
    stopWarnings();
    restoreEnvironment();
    await monitor.close(outcome);
  }
}

const withOwnLogs = (stage: StageConfig, folder: string): StageConfig => ({
  ...stage,
  log: { ...stage.log, directory: path.join(folder, 'log') },
  monitor: { ...stage.monitor, directory: path.join(folder, 'monitor') },
});

/**
 * Returns the result of a stage that was interrupted before it returned a result. The result names
 * the newest checkpoint on disk.
 */
async function interrupted(jobDirectory: string): Promise<StageResult> {
  const newest = (await listCheckpoints(jobDirectory)).at(-1);
  return { ...stageResult(newest?.manifest.step ?? 0, newest?.directory), interrupted: true };
}
