/** Reads `settings.json`: the configuration that a run was last started with. */
import path from 'node:path';
import { stageSettings } from '../../verify/stages.js';
import type { RunSettings } from '../interface/types.js';

const fileOf = (folder: string): string => path.join(folder, 'settings.json');

/**
 * Returns the paths at which the file may be. For the folder of a stage, it is in the folder of the
 * run, one level up.
 */
export const settingsFiles = (folder: string): readonly string[] => [
  fileOf(folder),
  fileOf(path.dirname(folder)),
];

/** Settings of a run, without secrets; empty if none were recorded. */
export async function settingsOf(folder: string): Promise<RunSettings> {
  const { jobDirectory = '', stage = {} } = (await stageSettings(folder)) ?? {};
  return Object.fromEntries(
    Object.entries(stage).map(([key, value]) => [key, fromFolder(jobDirectory, value)]),
  );
}

/**
 * Makes a path relative to the run's folder, so that settings of two runs do not differ only
 * because of their folders.
 */
const fromFolder = (folder: string, value: unknown): unknown =>
  typeof value === 'string' && path.isAbsolute(value) ? path.relative(folder, value) : value;
