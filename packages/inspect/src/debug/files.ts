/** Files that a debug run writes. */
import { rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import { describeError, type Experience } from '@trinity-rft/core';
import { makeFolder, redactText } from '@trinity-rft/core/support';
import { redactedStacks } from '@trinity-rft/launcher/files';
import { profilePage } from './profile-page.js';
import type { WorkflowDebugReport } from './report.js';
import { chromeTrace } from './spans.js';

/**
 * Names of the files in the output directory. `trinity view` reads the experiences from
 * `experiences` and the path of the model from `facts`.
 */
export const debugFiles = {
  experiences: 'experiences.db',
  failedTurns: 'failed_turns.json',
  profile: 'profile.html',
  trace: 'trace.json',
  facts: 'debug.json',
} as const;

/**
 * Prepares the output folder of a debug run, and returns its path. If `directory` has files of an
 * earlier debug run and `suffix` is given, the folder is `<directory>_<suffix>`, otherwise
 * `directory`. Deletes the files of an earlier debug run from the folder, but keeps the JSON file
 * that describes a served model.
 * @throws ConfigError when the folder cannot be written
 */
export async function prepareFolder(directory: string, suffix?: string): Promise<string> {
  const used = await stat(path.join(directory, debugFiles.facts)).catch(() => undefined);
  const target = used && suffix !== undefined ? `${directory}_${suffix}` : directory;
  await makeFolder(target);
  const { experiences, ...others } = debugFiles;
  const databaseFiles = ['', '-wal', '-shm', '.lock'].map((end) => `${experiences}${end}`);
  for (const name of [...databaseFiles, ...Object.values(others)])
    await rm(path.join(target, name), { force: true });
  return target;
}

interface WriteOptions {
  /** Folder of the model, whose tokenizer `trinity view` uses. */
  readonly model: string;
  readonly profile: boolean;
}

/** Writes the files and returns their names. */
export async function writeReport(
  report: Omit<WorkflowDebugReport, 'files'>,
  { model, profile }: WriteOptions,
): Promise<readonly string[]> {
  const { outputDirectory, experiences, error, spans, task } = report;
  const contents: Record<string, string> = {};
  if (error) contents[debugFiles.failedTurns] = json(failureOf(report, error));
  if (profile) {
    contents[debugFiles.trace] = json(chromeTrace(spans));
    contents[debugFiles.profile] = profilePage(spans, task.workflow);
  }
  contents[debugFiles.facts] = json(factsOf(report, model));
  for (const [name, text] of Object.entries(contents))
    await writeFile(path.join(outputDirectory, name), text);
  if (experiences.length === 0) return Object.keys(contents);
  await storeExperiences(path.join(outputDirectory, debugFiles.experiences), experiences);
  return [debugFiles.experiences, ...Object.keys(contents)];
}

const factsOf = (
  { task, turns, forks, seconds, reward, metrics }: Omit<WorkflowDebugReport, 'files'>,
  model: string,
): object => ({
  model,
  workflow: task.workflow,
  task: task.index,
  turns: turns.length,
  forks,
  seconds,
  reward,
  metrics,
});

/**
 * Returns the contents of `failed_turns.json`: the error with its causes, and every model call with
 * its prompt and responses.
 */
function failureOf(
  { task, turns, forks, spans }: Omit<WorkflowDebugReport, 'files'>,
  error: Error,
): object {
  return {
    error: redactText(describeError(error)),
    stack: redactedStacks(error)?.split('\n'),
    task: { workflow: task.workflow, ...task.index, rawTask: task.rawTask },
    turns: turns.map(({ start, end, ...turn }, call) => ({
      call,
      seconds: (end - start) / 1000,
      ...turn,
    })),
    forks,
    spans,
  };
}

async function storeExperiences(file: string, experiences: readonly Experience[]): Promise<void> {
  const store = sqliteExperienceStore({ path: file, capacity: Infinity });
  try {
    await store.put(experiences);
  } finally {
    await store.close();
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
