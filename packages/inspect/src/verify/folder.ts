/** The folder of a stage: its experience stores, and the process that writes to it. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { readExperiences, type ExperienceReader } from '@trinity-rft/buffer';
import { isProcessAlive } from '@trinity-rft/core/support';

/** Experience stores in the folder of a stage, ordered by name. */
export async function databasesIn(directory: string): Promise<readonly string[]> {
  const buffers = path.join(directory, 'buffer');
  const names = await readdir(buffers).catch(() => []);
  return names
    .filter((name) => name.endsWith('.db'))
    .toSorted()
    .map((name) => path.join(buffers, name));
}

/** Reads an experience store, and closes it. */
export function withReader<T>(database: string, read: (reader: ExperienceReader) => T): T {
  const reader = readExperiences(database);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}

/** Process id of the run or server in this folder, if it is alive. */
export async function runningPid(jobDirectory: string): Promise<number | undefined> {
  for (const role of ['run', 'serve']) {
    const pid = Number(
      await readFile(path.join(jobDirectory, `${role}.pid`), 'utf8').catch(() => ''),
    );
    if (pid > 0 && isProcessAlive(pid)) return pid;
  }
  return undefined;
}
