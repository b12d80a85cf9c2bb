/** Finds recorded experiences, and the tokenizer to read them with. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { isGguf } from '@trinity-rft/chat/gguf';
import { listCheckpoints } from '@trinity-rft/trainer';
import { findTargets, type TargetOptions } from '../verify/targets.js';
import { debugFiles } from './files.js';

/** An experience store, and the model folder whose tokenizer decodes the records. */
export interface RecordsPlace {
  readonly database: string;
  /** A model folder with the tokenizer of the records, if such a folder is known. */
  readonly modelFolder?: string;
}

/**
 * Finds the experience stores of a run, and a tokenizer for each of them.
 * @param run path of a configuration, of the folder of a run, or of a database
 * @throws ConfigError when no experiences are recorded
 */
export async function findRecords(
  run: string,
  options: TargetOptions = {},
): Promise<readonly RecordsPlace[]> {
  const place = path.resolve(options.cwd ?? '.', run);
  if (place.endsWith('.db')) return [await placeOf(place)];
  const targets = await findTargets(place, options);
  return Promise.all(
    targets.map(async ({ database, weights }) => ({
      database,
      modelFolder: await firstWithTokenizer([...weights.values()]),
    })),
  );
}

async function placeOf(database: string): Promise<RecordsPlace> {
  if (!(await stat(database).catch(() => undefined))) {
    throw new ConfigError(
      `There is no ${database}. Start the run or debug run first, then name its database.`,
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
  return { database, modelFolder: await firstWithTokenizer(candidates) };
}

async function firstWithTokenizer(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders)
    if (isGguf(folder) || (await stat(path.join(folder, 'tokenizer.json')).catch(() => undefined)))
      return folder;
  return undefined;
}
