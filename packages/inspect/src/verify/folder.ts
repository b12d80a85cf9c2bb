/** Finds the folder of a run, its experience stores, its failure, and the process that writes to it. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { isLateRewards } from '@trinity-rft/buffer/late-rewards';
import { ConfigError } from '@trinity-rft/core';
import { isProcessAlive } from '@trinity-rft/core/support';
import { failureFile, lockHolder, messagesIn } from '@trinity-rft/launcher/files';

/**
 * Resolves the path of a run, which may be its folder or its configuration file.
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

/** True if there is a file or folder. */
export const isThere = (place: string): Promise<boolean> =>
  stat(place).then(
    () => true,
    () => false,
  );

/** Messages of the failure file in this folder, causes included; undefined if there is none. */
export async function failureOf(folder: string): Promise<string | undefined> {
  const text = await readFile(path.join(folder, failureFile), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : messagesIn(text);
}

/** Log files of a stage, the earlier one first; `log.max_file_mb` limits their size. */
export const logFiles = (folder: string): readonly string[] =>
  ['trinity.log.1', 'trinity.log'].map((name) => path.join(folder, 'log', name));

/** Experience stores in the folder of a stage, ordered by name. */
export async function databasesIn(directory: string): Promise<readonly string[]> {
  const buffers = path.join(directory, 'buffer');
  const names = await readdir(buffers).catch(() => []);
  return names
    .filter((name) => name.endsWith('.db') && !isLateRewards(name))
    .toSorted()
    .map((name) => path.join(buffers, name));
}

/**
 * Live process of this machine in this folder, and the lock that it holds: `serve` for a server
 * that does not train, `run` for all others; undefined if there is none. The process must hold the
 * lock, because a killed run leaves its id in a file, and the id may by now belong to another
 * process.
 */
export async function runningProcess(
  jobDirectory: string,
): Promise<{ readonly pid: number; readonly role: 'run' | 'serve' } | undefined> {
  for (const role of ['run', 'serve'] as const) {
    const pid = Number(
      await readFile(path.join(jobDirectory, `${role}.pid`), 'utf8').catch(() => ''),
    );
    if (!(pid > 0 && isProcessAlive(pid))) continue;
    // If the lock cannot be checked, the id is the only evidence.
    const holder = await lockHolder(jobDirectory, role).catch(() => pid);
    if (holder === pid) return { pid, role };
  }
  return undefined;
}
