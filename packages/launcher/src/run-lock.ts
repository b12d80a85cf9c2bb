/** One process per run directory: a lock file with the process id, taken over when its process is gone. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';

/** Takes the lock and returns its release. @throws ConfigError naming the process that holds it */
export async function lockRun(jobDirectory: string): Promise<() => Promise<void>> {
  await mkdir(jobDirectory, { recursive: true });
  const file = path.join(jobDirectory, 'run.lock');
  for (;;) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' });
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(await readFile(file, 'utf8').catch(() => ''));
    if (isAlive(holder)) {
      throw new ConfigError(`Run directory ${jobDirectory} is in use by process ${holder}. Wait for it, stop it, or give the run another name.`, { code: 'RUN_LOCKED' });
    }
    await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
