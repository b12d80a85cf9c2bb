/**
 * Common start of all debug commands: reads a configuration, and selects the stage and its weights.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { type Clock, ConfigError, type Logger, systemClock } from '@trinity-rft/core';
import { listCheckpoints } from '@trinity-rft/trainer';
import { resolveModelFolder, withFetchedModels } from '@trinity-rft/launcher/parts';
import {
  readConfiguration,
  type ConfigurationOptions,
  type ExtensionOptions,
} from '@trinity-rft/launcher';
import { exploringStage, frozenContext, type FrozenContext } from './frozen-context.js';

export interface DebugOptions extends ExtensionOptions, Pick<ConfigurationOptions, 'checkNames'> {
  /** Path of the YAML file. */
  readonly configPath: string;
  /**
   * Folder that the command writes to and searches for the JSON file that describes a served model.
   * @default "debug_output"
   */
  readonly outputDirectory?: string;
  /**
   * True to use the newest checkpoint of the run, which must exist, instead of the model that the
   * run starts from.
   * @default false
   */
  readonly newestCheckpoint?: boolean;
  readonly signal?: AbortSignal;
  /**
   * Called for each warning of the configuration, each download, and each log message.
   * @default no callback
   */
  readonly onNotice?: (notice: string) => void;
  /** Environment variables. @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Source of the time. @default the system clock */
  readonly clock?: Clock;
}

export interface DebugContext {
  readonly context: FrozenContext;
  /**
   * Warnings of the configuration, then notices of downloads and log messages, added as they occur.
   */
  readonly notices: readonly string[];
  /** Absolute path of the output directory. */
  readonly outputDirectory: string;
}

/**
 * Opens a debug context without changing the run's folder.
 * @param choose selects the stage to open
 * @throws ConfigError if the configuration, a download or the chosen stage cannot be used, or if
 * the output directory is a file
 */
export async function openDebugContext(
  options: DebugOptions & Pick<ConfigurationOptions, 'overrides' | 'overridesName'>,
  choose: (config: ResolvedConfig) => StageConfig = exploringStage,
): Promise<DebugContext> {
  const { cwd = '.', clock, signal } = options;
  const outputDirectory = path.resolve(cwd, options.outputDirectory ?? 'debug_output');
  await assertNoFile(outputDirectory);
  const { loaded, ...extensions } = await readConfiguration({ ...options, readsRun: true });
  const notices: string[] = [];
  const note = (notice: string): void => {
    notices.push(notice);
    options.onNotice?.(notice);
  };
  for (const warning of loaded.warnings) note(warning);
  const { env = process.env } = options;
  const fetching = {
    env,
    clock: clock ?? systemClock,
    signal,
    report: note,
  };
  const config = await withFetchedModels(loaded.config, fetching, loaded.problemAt);
  const stage = choose(config);
  const startModel =
    options.newestCheckpoint === true
      ? await newestWeights(config, stage)
      : await resolveModelFolder(config.stages[0]);
  const isCheckpoint = path.dirname(startModel) === stage.jobDirectory;
  const context = frozenContext({
    stage: isCheckpoint ? withoutAdapter(stage) : stage,
    startModel,
    extensions,
    logger: noticeLogger(note),
    clock,
    signal,
    env,
  });
  return { context, notices, outputDirectory };
}

async function assertNoFile(directory: string): Promise<void> {
  // ENOTDIR: a parent is a file.
  const isFile = await stat(directory).then(
    (found) => !found.isDirectory(),
    ({ code }: NodeJS.ErrnoException) => code === 'ENOTDIR',
  );
  if (isFile)
    throw new ConfigError(
      `--output-dir is ${directory}, which is or lies in a file. Name a folder; it is created if it does not exist.`,
      { code: 'FOLDER_IN_USE' },
    );
}

/**
 * Returns the stage without its LoRA adapter, because checkpoints already contain the merged
 * adapter.
 */
const withoutAdapter = (stage: StageConfig): StageConfig => ({
  ...stage,
  model: { ...stage.model, lora: undefined },
});

/**
 * Returns the newest checkpoint of the stage or of an earlier stage.
 * @throws ConfigError when nothing was saved yet
 */
async function newestWeights(config: ResolvedConfig, stage: StageConfig): Promise<string> {
  for (const { jobDirectory } of config.stages.slice(0, stage.stageIndex + 1).toReversed()) {
    const newest = (await listCheckpoints(jobDirectory)).at(-1);
    if (newest) return newest.directory;
  }
  throw new ConfigError(
    `There is no checkpoint in ${stage.jobDirectory} yet, so there are no newest weights. Train first, or leave --newest-checkpoint out to use the model that the run starts from.`,
    { code: 'CHECKPOINT_MISSING' },
  );
}

/**
 * Returns a logger that forwards messages from level `info` on. Omits failures of the attempt,
 * because the report shows them separately.
 */
function noticeLogger(note: (notice: string) => void): Logger {
  const keep = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    if (fields?.['attempt'] === undefined) note(message);
  };
  return { debug: () => undefined, info: keep, warn: keep, error: keep };
}
