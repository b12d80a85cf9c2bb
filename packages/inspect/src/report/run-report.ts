/** Report of a run, read from its folder: metrics, log, failure and newest checkpoint. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { listCheckpoints } from '@trinity-rft/trainer';
import { readConfiguration, type ConfigurationOptions } from '@trinity-rft/launcher';
import { readMetrics, type MetricLine } from '@trinity-rft/monitor';
import { failureOf, locateRun, logFiles, runningProcess } from '../verify/folder.js';
import { stageFolders } from '../verify/stages.js';

export interface StageReport {
  /** Folder of the stage. */
  readonly directory: string;
  /** Records of `metrics.jsonl` in order, without a line that is still being written. */
  readonly metrics: readonly MetricLine[];
  /** Lines of `trinity.log.1` and `trinity.log`, including continuation lines of messages. */
  readonly log: readonly string[];
  /** Messages of `failure.txt`, causes included, if the last attempt failed. */
  readonly failure?: string;
  /** Newest checkpoint, and the train step that it was written after. */
  readonly checkpoint?: { readonly directory: string; readonly step: number };
}

export interface RunReport {
  readonly jobDirectory: string;
  /** Id of the process that is writing to the folder. */
  readonly pid?: number;
  /**
   * Stages in the order in which they ran. If the run's own folder has metrics or a log, its report
   * is the first.
   */
  readonly stages: readonly StageReport[];
}

/**
 * Returns the folder of a run.
 * @param run a configuration, or the folder itself
 * @throws ConfigError when there is no such file or folder
 */
export async function folderOfRun(
  run: string,
  options: Omit<ConfigurationOptions, 'configPath'> = {},
): Promise<string> {
  const { place, isFolder } = await locateRun(run, options.cwd);
  if (isFolder) return place;
  const read = { ...options, configPath: place, checkNames: false, readsRun: true };
  const { loaded } = await readConfiguration(read);
  return loaded.config.jobDirectory;
}

/**
 * Reads the report of a run.
 * @param run a configuration, or the folder of a run
 * @throws ConfigError when there is no such run
 */
export async function reportRun(
  run: string,
  options: Omit<ConfigurationOptions, 'configPath'> = {},
): Promise<RunReport> {
  const jobDirectory = await folderOfRun(run, options);
  const folders = [jobDirectory, ...(await stageFolders(jobDirectory))];
  const stages = await Promise.all(folders.map(reportStage));
  const seen = stages.filter(({ metrics, log }) => metrics.length + log.length > 0);
  const pid = (await runningProcess(jobDirectory))?.pid;
  if (seen.length > 0) return { jobDirectory, pid, stages: seen };
  throw await nothingIn(jobDirectory);
}

/** Last stage with metrics other than those of benchmarks; if there is none, the last stage. */
export const lastTrained = ({ stages }: RunReport): StageReport | undefined =>
  stages.findLast(({ metrics }) => metrics.some(({ role }) => role !== 'bench')) ?? stages.at(-1);

/** Returns the error about a folder without log and metrics. */
export async function nothingIn(jobDirectory: string): Promise<ConfigError> {
  const folder = path.join(jobDirectory, 'explorers');
  const [explorer] = await readdir(folder).catch(() => []);
  return new ConfigError(
    explorer === undefined
      ? `${jobDirectory} has no log and no metrics. Expected the folder of a run that was started.`
      : `${jobDirectory} has no log and no metrics: only explorers have worked there. See their logs with trinity log ${path.join(folder, explorer)}; train with trinity run FILE --mode train.`,
    { code: 'RUN_MISSING' },
  );
}

async function reportStage(directory: string): Promise<StageReport> {
  const log = (await Promise.all(logFiles(directory).map(textOf))).join('').trimEnd();
  const newest = (await listCheckpoints(directory).catch(() => [])).at(-1);
  return {
    directory,
    metrics: await readMetrics(path.join(directory, 'monitor', 'metrics.jsonl'), []),
    log: log === '' ? [] : log.split('\n'),
    failure: await failureOf(directory),
    checkpoint: newest && { directory: newest.directory, step: newest.manifest.step },
  };
}

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
