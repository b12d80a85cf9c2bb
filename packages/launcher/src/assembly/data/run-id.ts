/**
 * Reads and creates `run.id` in the folder of a training run. Databases outside of the folder use
 * this id to identify the training run.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointError, systemClock } from '@trinity-rft/core';

const fileName = 'run.id';
const format = /^[\da-f-]{36}$/;

/** Reads the id of the training run. Returns undefined if the file is missing or damaged. */
export function readRunId(folder: string): string | undefined {
  try {
    const text = readFileSync(path.join(folder, fileName), 'utf8').trim();
    return format.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the id of the training run. The first process that calls this function creates the id.
 * @throws CheckpointError if the file is damaged
 */
export async function runIdOf(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, fileName);
  const id = randomUUID();
  try {
    await writeFile(file, `${id}\n`, { flag: 'wx' });
    return id;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const kept = readRunId(folder) ?? (await again(folder));
  if (kept !== undefined) return kept;
  throw new CheckpointError(
    `${file} is damaged; expected the id of the run. Copy it from another copy of the folder, or delete it and start the run with --new-run.`,
    { code: 'RUN_ID' },
  );
}

/**
 * Reads the file after 200 ms, because another process may have created the file but not yet
 * written it.
 */
async function again(folder: string): Promise<string | undefined> {
  await systemClock.sleep(200);
  return readRunId(folder);
}

export const isWithin = (folder: string, file: string): boolean =>
  !path.relative(folder, file).startsWith('..');
