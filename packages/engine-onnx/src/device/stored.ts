/**
 * Stores the results of checks. Each combination of GPU, driver, versions, processor and model has
 * its own file.
 */
import { hash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';

import { describeError } from '@trinity-rft/core';
import { cacheFolder, replaceFile, tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';

import { outcomeSchema, type CheckOutcome } from './report.js';

/**
 * Everything that a result depends on, as plain data. A stored result is used only if its key is
 * equal.
 */
export type CheckKey = Readonly<Record<string, unknown>>;

/** Location of a stored result, and a callback for problems with its file. */
export interface Place {
  readonly folder: string;
  readonly key: CheckKey;
  readonly report: (line: string) => void;
}

/** Returns the folder that holds the stored results. */
export const resultsFolder = (): string => cacheFolder(process.env, 'trinity-rft', 'devices');

const fileOf = ({ folder, key }: Place): string =>
  path.join(folder, `${hash('sha256', JSON.stringify(key)).slice(0, 32)}.json`);

const stored = z.object({ v: z.literal(1), report: outcomeSchema });

/**
 * Reads a result. Returns undefined if the file is missing, unreadable or damaged. Reports an
 * unreadable or damaged file.
 */
export async function readStored(place: Place): Promise<CheckOutcome | undefined> {
  const file = fileOf(place);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') place.report(`${file} cannot be read: ${describeError(error)}.`);
  });
  if (text === undefined) return undefined;
  const { success, data } = stored.safeParse(tryJson(text));
  if (success) return data.report;
  place.report(`${file} is damaged and counts as missing; the next check of the GPU replaces it.`);
  return undefined;
}

/** Stores a result, or reports why it cannot be stored. */
export async function writeStored(place: Place, report: CheckOutcome): Promise<void> {
  const file = fileOf(place);
  try {
    await mkdir(place.folder, { recursive: true });
    await replaceFile(file, `${JSON.stringify({ v: 1, key: place.key, report }, null, 2)}\n`);
  } catch (error) {
    place.report(
      `${file} cannot be written, so the check will be repeated: ${describeError(error)}. Set XDG_CACHE_HOME to a folder that is writable.`,
    );
  }
}
