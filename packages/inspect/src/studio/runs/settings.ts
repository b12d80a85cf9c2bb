/** The configuration that a run was last started with: `settings.json` of its job. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { tryJson } from '@trinity-rft/core/support';
import type { RunSettings } from '../interface/types.js';

interface Recorded {
  readonly jobDirectory: string;
  readonly stages: readonly RunSettings[];
}

/** Where they may be: a stage of a run is a folder in that of the run. */
export const settingsFiles = (folder: string): readonly [own: string, job: string] => [
  path.join(folder, 'settings.json'),
  path.join(path.dirname(folder), 'settings.json'),
];

/** Excludes secrets, which are not recorded. Empty if nothing was recorded. */
export async function settingsOf(folder: string): Promise<RunSettings> {
  const [own, job] = settingsFiles(folder);
  const recorded = (await read(own)) ?? (await read(job));
  if (!recorded) return {};
  const { stages, jobDirectory } = recorded;
  const stage =
    stages.length === 1
      ? stages[0]
      : stages.find(({ stage_name: name }) => name === path.basename(folder));
  return Object.fromEntries(
    Object.entries(stage ?? {}).map(([key, value]) => [key, fromFolder(jobDirectory, value)]),
  );
}

/** Two runs of one project differ in their folders, which is no difference. */
const fromFolder = (folder: string, value: unknown): unknown =>
  typeof value === 'string' && path.isAbsolute(value) ? path.relative(folder, value) : value;

async function read(file: string): Promise<Recorded | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const recorded = tryJson(text) as Partial<Recorded> | null | undefined;
  return Array.isArray(recorded?.stages) ? (recorded as Recorded) : undefined;
}
