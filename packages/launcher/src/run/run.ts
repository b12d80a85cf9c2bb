/**
 * Executes a whole training run: reads configuration and plugins, locks the folder, and executes
 * the stages in order.
 */
import path from 'node:path';
import type { LoadedConfig, ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { isScorerName } from '@trinity-rft/config/internal';
import {
  ConfigError,
  describeError,
  EngineError,
  systemClock,
  type Clock,
} from '@trinity-rft/core';
import { serverRestartedKey } from '@trinity-rft/core/engine';
import { causesOf, knowSecret, knowSecretsOf } from '@trinity-rft/core/support';
import type { Terminal } from '@trinity-rft/monitor';
import { startTelemetry } from '@trinity-rft/monitor/telemetry';
import { tasksetsOf } from '../assembly/data/tasks.js';
import { withFetchedModels } from '../assembly/models/hub-models.js';
import { withOtherModel } from '../assembly/models/other-model.js';
import {
  stageResult,
  type EvaluationOptions,
  type Extensions,
  type ServeOptions,
  type StageResult,
} from '../context/stage-context.js';
import {
  loadExtensions,
  readConfiguration,
  type ConfigurationOptions,
  type ExtensionOptions,
} from './configuration.js';
import { catchStrayErrors, failureFile, firstCause, isInterrupt } from './failure.js';
import { endErrorOf, forgetEnd, interruptOf, readEnd, writeEnd, type RunEnd } from './end.js';
import { areGuests, failureFolder } from './folders.js';
import { guardProcess } from './guard/guard-process.js';
import { lockRun } from './lock.js';
import { firstOpenStage, hasBegun, readStageProgress, writeStageProgress } from './progress.js';
import { withRecordedDevices } from './changes/devices.js';
import { inputsOf } from './changes/inputs.js';
import {
  describeChanges,
  describeInputs,
  isRecorded,
  recordedInputs,
  recordSettings,
} from './changes/resume.js';
import { readSource, writeSource } from './source.js';
import { checkFiles, inNoFile, type CheckedFiles } from './check-files.js';
import { explorerFolder } from '../modes/distributed/explorer-folder.js';
import { runStage, type StageSurroundings } from './stage.js';

/**
 * A parsed configuration. `file` is the path of its file, in whose folder plugins are also looked
 * up. `problemAt` adds positions in the file to problems.
 */
type ParsedConfig = Pick<LoadedConfig, 'config' | 'warnings'> &
  Partial<Pick<LoadedConfig, 'file' | 'problemAt'>>;

export interface RunOptions
  extends ExtensionOptions, Pick<ConfigurationOptions, 'overrides' | 'overridesName' | 'runName'> {
  /** YAML file, or the result of `parseConfig` with the same algorithms and engines. */
  readonly configPath: string | ParsedConfig;
  /** Terminal that shows the progress. */
  readonly terminal: Terminal;
  /**
   * Signal that interrupts the training run, which then finishes its step and saves its progress.
   */
  readonly signal?: AbortSignal;
  /** Environment variables of the training run. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Clock that provides the current time. @default the system clock */
  readonly clock?: Clock;
  /** Options of stages in mode `serve`. */
  readonly serve?: ServeOptions;
  /**
   * True to start over if a shared store has an earlier training run of this name. The store keeps
   * the earlier training run under another name.
   * @default false: an earlier training run is an error
   */
  readonly newRun?: boolean;
  /**
   * True to explore at once instead of waiting for a trainer, in mode `explore`. @default false:
   * waits for a trainer for 30 s, or without limit if `overrides` set the mode
   */
  readonly alone?: boolean;
  /**
   * True to continue even if files that the training run reads have changed since its last start.
   * @default false: changed files are an error
   */
  readonly acceptChangedFiles?: boolean;
  /** Options of stages in mode `bench`. */
  readonly evaluation?: EvaluationOptions;
}

export interface RunSummary {
  readonly interrupted: boolean;
  /** True if an earlier process completed the training run and nothing was left to do. */
  readonly doneBefore: boolean;
  readonly jobDirectory: string;
  /**
   * Name of the training run: `name` in the configuration, with a timestamp suffix if there is one.
   */
  readonly name: string;
  /**
   * True if starting the same configuration again continues this training run; false if that starts
   * a new one.
   */
  readonly continues: boolean;
  /** Name of the last executed stage; undefined for a file without stages. */
  readonly stageName: string | undefined;
  /** Last train step of the last executed stage; undefined for a benchmark. */
  readonly trainStep: number | undefined;
  /** Folder of the last checkpoint; undefined when nothing was trained. */
  readonly checkpoint: string | undefined;
  /** True if the last stage has evaluation sets. */
  readonly hasEvaluations: boolean;
}

/**
 * Starts or resumes the training run of `configPath`. During the stages, uncaught errors are
 * reported instead of ending the process.
 * @throws ConfigError and TaskError for problems that the user can fix, other errors for all other
 * problems
 */
export async function run(options: RunOptions): Promise<RunSummary> {
  const { terminal, env = process.env, serve, evaluation } = options;
  knowSecretsOf(env);
  if (serve?.apiKey !== undefined) knowSecret(serve.apiKey);
  const { loaded: given, ...extensions } = await readAll(options);
  const { model, baseline } = evaluation ?? {};
  if (baseline !== undefined) withOtherModel(given.config, baseline);
  const read =
    model === undefined ? given : { ...given, config: withOtherModel(given.config, model) };
  for (const warning of read.warnings) terminal.write(`${warning}\n`);
  try {
    return await runRead(options, { ...read, extensions });
  } finally {
    await extensions.environments.close();
  }
}

/** Checks files and parts of the configuration, then executes the training run. */
async function runRead(
  options: RunOptions,
  read: ParsedConfig & { readonly extensions: Extensions },
): Promise<RunSummary> {
  const { terminal, clock = systemClock, env = process.env, cwd = '.' } = options;
  const { signal = new AbortController().signal, serve, newRun, evaluation, alone } = options;
  const { extensions } = read;
  const say = (line: string): void => terminal.write(`${line}\n`);
  assertNamesKnown(read.config, extensions);
  const config = await unlessInterrupted(signal, read.config, () =>
    withFetchedModels(read.config, { clock, env, signal, report: say }, read.problemAt),
  );
  if (newRun) assertStartsOver(config);
  if (alone) assertExplores(config);
  explorersWithoutEffect(config).forEach(say);
  const { jobDirectory, stages } = config;
  const { latestStage } = await readStageProgress(jobDirectory);
  // An evaluation uses the last stage.
  const evaluates = evaluation !== undefined || options.overrides?.['mode'] === 'bench';
  const from = evaluates ? stages.length - 1 : firstOpenStage(stages, latestStage);
  // All stages are checked now, so that a mistake in the last stage is found before hours of work.
  const { warnings, digests } = await unlessInterrupted<Partial<CheckedFiles>>(signal, {}, () =>
    checkFiles({ ...read, config }, extensions, { from, env, signal }),
  );
  warnings?.forEach(say);

  const telemetry = await startTelemetry(env, { warn: say });
  try {
    const aloneAfterMs = aloneAfter(options);
    const caller = { serve, newRun, evaluation, aloneAfterMs };
    const surroundings = { terminal, clock, signal, env, extensions, ...caller };
    const file = read.file && path.resolve(cwd, read.file);
    const isAccepted = options.acceptChangedFiles ?? false;
    const reads = { from, digests, cwd, isAccepted, evaluates };
    return await runLocked({ ...read, config, file }, surroundings, reads);
  } finally {
    await telemetry?.close();
  }
}

async function readAll(
  options: RunOptions,
): Promise<Extensions & { readonly loaded: ParsedConfig }> {
  const { configPath, plugins = [], cwd = '.', evaluation } = options;
  if (typeof configPath === 'string')
    return readConfiguration({ ...options, configPath, readsRun: evaluation !== undefined });
  const { config, file } = configPath;
  const rewards = config.stages.flatMap(tasksetsOf).map(({ taskset }) => taskset.rewardFn ?? '');
  const scorers = [...new Set(rewards.filter(isScorerName))];
  const all = { ...options, plugins: [...plugins, ...config.plugins], scorers };
  const projects = file === undefined ? [] : [path.dirname(path.resolve(cwd, file))];
  return { ...(await loadExtensions(all, projects)), loaded: configPath };
}

/** Checks the names of workflows and reward functions before the first stage starts. */
function assertNamesKnown(config: ResolvedConfig, { workflows, rewardFns }: Extensions): void {
  for (const { taskset } of config.stages.flatMap(tasksetsOf)) {
    const { workflow, rewardFn, rewardFnArgs } = taskset;
    if (workflow !== undefined) workflows.get(workflow);
    if (rewardFn !== undefined) rewardFns.get(rewardFn).create(rewardFnArgs);
  }
}

/**
 * Returns the result of `work`, or `otherwise` if `signal` interrupts `work`. The training run then
 * ends before it opens a model.
 */
async function unlessInterrupted<T>(
  signal: AbortSignal,
  otherwise: T,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isInterrupt(error, signal)) return otherwise;
    throw error;
  }
}

/**
 * Checks that `newRun` can be used.
 * @throws ConfigError if the training run uses no shared store and would be resumed
 */
function assertStartsOver({ resume, jobDirectory, stages: [stage] }: ResolvedConfig): void {
  if (!resume || stage.part !== undefined) return;
  throw new ConfigError(
    `--new-run starts over in a store that processes share. This process alone makes the run, and ${jobDirectory} holds it already: set continue_from_checkpoint: false, or give the new run another name.`,
    { code: 'NEW_RUN' },
  );
}

/**
 * Checks that `alone` can be used.
 * @throws ConfigError if the mode is not `explore`
 */
function assertExplores({ stages: [{ part, mode }] }: ResolvedConfig): void {
  if (part === 'explore') return;
  throw new ConfigError(
    `--alone makes an explorer explore without a trainer, and the mode is ${part ?? mode}; expected explore. Add --mode explore, or leave --alone out.`,
    { code: 'EXPLORE_ALONE' },
  );
}

/**
 * Returns a warning if the configuration requests explorers, which only the command `trinity run`
 * starts.
 */
const explorersWithoutEffect = ({ stages }: ResolvedConfig): readonly string[] =>
  stages
    .filter(({ mode, part, cluster }) => mode === 'both' && !part && cluster.explorers > 0)
    .slice(0, 1)
    .map(
      ({ cluster: { explorers } }) =>
        `cluster.explorers ${explorers} has no effect here: this process explores and trains. The command "trinity run" starts explorers; a program starts them as runs of their own, with the overrides { mode: 'explore' } and { mode: 'train' }.`,
    );

/**
 * Returns the time in ms that an explorer waits for a trainer. There is no limit if `overrides` set
 * the mode, because a trainer is then started as well.
 */
const aloneAfter = ({ alone, overrides }: RunOptions): number =>
  alone ? 0 : overrides?.['mode'] === undefined ? 30_000 : Infinity;

/** Inputs of stage `from` and of all later stages. */
interface Reads {
  readonly from: number;
  /** Digests of rows; undefined if the user interrupted the reading. */
  readonly digests: CheckedFiles['digests'] | undefined;
  /** Directory that relative paths in arguments start from. */
  readonly cwd: string;
  readonly isAccepted: boolean;
  /** True if the caller, not the file, asks for an evaluation. */
  readonly evaluates: boolean;
}

/**
 * Executes the stages under the lock of the folder.
 * @param loaded configuration. Its `file` is an absolute path, or undefined if it was not read from
 * a file
 */
async function runLocked(
  loaded: ParsedConfig,
  surroundings: StageSurroundings,
  reads: Reads,
): Promise<RunSummary> {
  const { terminal, signal, serve } = surroundings;
  const { jobDirectory, stages } = loaded.config;
  const role = serve?.train === false ? 'serve' : 'run';
  // Folder that only this operating-system process writes to.
  const place = stages[0].part === 'explore' ? explorerFolder(stages[0]) : jobDirectory;
  const unlock = await lockRun(place, role);
  const strayErrors = catchStrayErrors((line) => terminal.write(`${line}\n`));
  let current = stages[reads.from] ?? stages[0];
  const guard = guardProcess({
    failureFile: () => path.join(failureFolder({ ...current, jobDirectory }, serve), failureFile),
    maxTimeoutMs: Math.max(...stages.map(({ explorer }) => explorer.maxTimeoutMs)),
    signal,
  });
  // A benchmark and an evaluation do not change the record of a training run.
  const isBenchmark =
    !reads.evaluates &&
    stages.every(({ mode }) => mode === 'bench') &&
    !(await hasBegun(jobDirectory));
  const trains = !reads.evaluates && stages.some(({ mode }) => mode !== 'bench');
  const keepsEnd = role === 'run' && (trains || isBenchmark);
  let end: Omit<RunEnd, 'at'> = { how: 'failed' };
  const before = await readEnd(place);
  let kept: RunEnd | undefined;
  /** @param isTrained true if an earlier process has completed all stages that train */
  const onStage = async (stage: StageConfig, isTrained: boolean): Promise<void> => {
    current = stage;
    const mayTrain = stages.slice(stage.stageIndex).some(({ mode }) => mode !== 'bench');
    if (!keepsEnd || !isTrained || mayTrain || before?.how !== 'finished') return;
    kept = before;
    await writeEnd(place, kept);
  };
  try {
    if (keepsEnd) await forgetEnd(place);
    // A benchmark records its file only if no training run has recorded its own.
    const isOwn = keepsEnd || (role === 'run' && (await readSource(place)) === undefined);
    if (isOwn && loaded.file !== undefined) await writeSource(place, loaded.file);
    const summary = await runStages(loaded, surroundings, { ...reads, isBenchmark, onStage });
    const { trainStep, stageName, interrupted } = summary;
    const at = { ...(trainStep !== undefined && { trainStep }), stageName };
    end = interrupted
      ? { how: 'interrupted', by: interruptOf(signal), ...at }
      : { how: 'finished', ...at };
    return summary;
  } catch (error) {
    end = { how: 'failed', error: endErrorOf(error) };
    throw error;
  } finally {
    if (keepsEnd && kept === undefined) await writeEnd(place, { ...end, at: Date.now() });
    await guard.stop();
    strayErrors.stop();
    await unlock();
  }
}

interface StageReads extends Reads {
  readonly isBenchmark: boolean;
  readonly onStage: (stage: StageConfig, isTrained: boolean) => Promise<void>;
}

/** Executes the stages from `from` on. */
async function runStages(
  { config: given, problemAt = inNoFile }: ParsedConfig,
  surroundings: StageSurroundings,
  { from, isBenchmark, onStage, ...reads }: StageReads,
): Promise<RunSummary> {
  const { digests, cwd, isAccepted, evaluates } = reads;
  const begun = await hasBegun(given.jobDirectory);
  // Benchmarks, explorers, and servers beside a trainer use a training run, but do not write its
  // record.
  const isGuest = evaluates || areGuests(given.stages) || surroundings.serve?.train === false;
  const config = withRecordedDevices(given);
  const { jobDirectory, name, continues, stages } = config;
  const { latestStage } = await readStageProgress(jobDirectory);
  const remaining = stages.slice(from);
  for (const { stageIndex, model } of remaining)
    if (given.stages[stageIndex]?.model.device !== model.device)
      surroundings.terminal.write(
        `model.device: auto keeps ${model.device}, with which the run began.\n`,
      );
  const save = async (stage: number): Promise<void> => {
    if (!isGuest) await writeStageProgress(jobDirectory, { latestStage: stage });
  };
  const changes = isGuest ? [] : [...describeChanges({ config, from, hasBegun: begun, problemAt })];
  const plugins = surroundings.extensions.pluginFiles;
  let last: StageResult = { ...stageResult(0), doneBefore: true };
  let ran = remaining[0];
  let isTrained = true;
  for (const stage of remaining) {
    ran = stage;
    await onStage(stage, isTrained);
    const endedBefore = stage.stageIndex < latestStage;
    if (!endedBefore) await save(stage.stageIndex);
    const before = isGuest ? undefined : recordedInputs(config, stage);
    const rows = isGuest ? undefined : digests?.[stage.stageIndex - from];
    const inputs = rows ? await inputsOf(stage, { rows, plugins, cwd, before }) : (before ?? {});
    if (!isGuest) changes.push(...describeInputs({ config, stage, inputs, isAccepted, problemAt }));
    last = await resuming(surroundings, () =>
      runStage({
        ...surroundings,
        config,
        stage,
        endedBefore,
        hasBegun: !isGuest && isRecorded(config, stage),
        // Each change is logged once.
        changes: changes.splice(0),
        onStart: (placed) => {
          if (!isGuest || isBenchmark) recordSettings(config, placed, inputs);
        },
      }),
    );
    if (last.interrupted) break;
    if (stage.mode !== 'bench') isTrained &&= last.doneBefore;
    if (!endedBefore) await save(stage.stageIndex + 1);
  }
  const hasEvaluations = (stages.at(-1)?.buffer.explorerInput.evalTasksets.length ?? 0) > 0;
  const trainStep = ran?.mode === 'bench' ? undefined : last.trainStep;
  const { stageName } = ran ?? stages[0];
  return { ...last, trainStep, stageName, jobDirectory, name, continues, hasEvaluations };
}

/**
 * Period in ms in which restarts of an engine's server are counted. More than `mostRestarts`
 * restarts within this period end the training run.
 */
const troubleMs = 10 * 60_000;
const mostRestarts = 3;

/**
 * Executes a stage. If its engine reports that its server has restarted, executes the stage again
 * from the last checkpoint.
 */
async function resuming(
  { terminal, clock, signal }: StageSurroundings,
  work: () => Promise<StageResult>,
): Promise<StageResult> {
  let restarts: readonly number[] = [];
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const now = clock.now();
      restarts = [...restarts.filter((at) => now - at < troubleMs), now];
      if (!wasRestarted(error) || restarts.length > mostRestarts || signal.aborted) throw error;
      terminal.write(
        `${describeError(error)}\nThe run goes on by itself, from its last checkpoint.\n`,
      );
    }
  }
}

function wasRestarted(error: unknown): boolean {
  return causesOf(firstCause(error)).some(
    (cause) => cause instanceof EngineError && cause.details[serverRestartedKey] === true,
  );
}
