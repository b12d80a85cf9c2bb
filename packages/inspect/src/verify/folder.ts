/** Finds the folder of a run, its experience stores, and the process that writes to it. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { isProcessAlive } from '@trinity-rft/core/support';

/**
 * Returns the absolute path of the run's folder or of its configuration file, whichever `run`
 * names.
 * @throws ConfigError when there is no such file or folder
 */
export async function locateRun(
  run: string,
  cwd = '.',
): Promise<{ readonly place: string; readonly isFolder: boolean }> {
  const place = path.resolve(cwd, run);
  const found = await stat(place).catch(() => undefined);
  if (found) return { place, isFolder: found.isDirectory() };
  throw new ConfigError(`There is no ${place}. Name a configuration, or the folder of a run.`, {
    code: 'RUN_MISSING',
  });
}

/** Experience stores in the folder of a stage, ordered by name. */
export async function databasesIn(directory: string): Promise<readonly string[]> {
  const buffers = path.join(directory, 'buffer');
  const names = await readdir(buffers).catch(() => []);
  return names
    .filter((name) => name.endsWith('.db'))
    .toSorted()
    .map((name) => path.join(buffers, name));
}

/** Process id of a live training run or server in this folder; undefined if there is none. */
export async function runningPid(jobDirectory: string): Promise<number | undefined> {
  for (const role of ['run', 'serve']) {
    const pid = Number(
      await readFile(path.join(jobDirectory, `${role}.pid`), 'utf8').catch(() => ''),
    );
    if (pid > 0 && isProcessAlive(pid)) return pid;
  }
  return undefined;
}
