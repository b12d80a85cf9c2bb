/** Recorded experiences of whatever a person names, and the tokenizer that reads them. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { listCheckpoints } from '@trinity-rft/trainer';
import { findTargets } from '../verify/targets.js';
import { debugFiles } from './workflow.js';

/** One experience store. */
export interface RecordsPlace {
  readonly database: string;
  /** A model folder whose tokenizer the records were made with, where one is known. */
  readonly modelFolder?: string;
}

export interface FindRecordsOptions {
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default the working directory of the process */
  readonly cwd?: string;
  /** Directories whose modules export what the configuration names. @default none */
  readonly pluginDirs?: readonly string[];
}

/**
 * @param run a configuration, the folder of a run, or a database.
 * @throws ConfigError when nothing was recorded there
 */
export async function findRecords(
  run: string,
  options: FindRecordsOptions = {},
): Promise<readonly RecordsPlace[]> {
  const place = path.resolve(options.cwd ?? '.', run);
  if (place.endsWith('.db')) return [await placeOf(place)];
  const targets = await findTargets(place, options);
  return Promise.all(
    targets.map(async ({ database, weights }) =>
      withFolder(database, await firstWithTokenizer([...weights.values()])),
    ),
  );
}

async function placeOf(database: string): Promise<RecordsPlace> {
  if (!(await stat(database).catch(() => undefined))) {
    throw new ConfigError(
      `There is no ${database}. Name the database of a run or of a debug run: run it first.`,
      { code: 'RUN_MISSING' },
    );
  }
  const folder = path.dirname(database);
  const facts = await readFile(path.join(folder, debugFiles.facts), 'utf8').catch(() => '{}');
  const { model } = JSON.parse(facts) as { readonly model?: string };
  const checkpoints = await listCheckpoints(path.dirname(folder)).catch(() => []);
  const candidates = [
    ...(model === undefined ? [] : [model]),
    ...checkpoints.map(({ directory }) => directory),
  ];
  return withFolder(database, await firstWithTokenizer(candidates));
}

const withFolder = (database: string, modelFolder: string | undefined): RecordsPlace => ({
  database,
  ...(modelFolder !== undefined && { modelFolder }),
});

async function firstWithTokenizer(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders)
    if (await stat(path.join(folder, 'tokenizer.json')).catch(() => undefined)) return folder;
  return undefined;
}
