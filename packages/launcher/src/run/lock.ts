/** One process per run directory. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ConfigError, describeError } from '@trinity-rft/core';

/** SQLite's result code for "somebody else has it". */
const busy = 5;

/**
 * Takes the run directory, which is made if need be, and returns its release. The lock is the
 * operating system's, on the empty database `<role>.lock`: it ends with the process that holds it,
 * however that ends, and cannot be mistaken for that of another process with the same id.
 * `<role>.pid` beside it is for messages only. A server without a trainer of its own has another
 * lock than whatever trains beside it.
 * @throws ConfigError naming the process that holds the lock, or the folder that cannot be written
 */
export async function lockRun(
  jobDirectory: string,
  role: 'run' | 'serve' = 'run',
): Promise<() => Promise<void>> {
  const pidFile = path.join(jobDirectory, `${role}.pid`);
  let holder: DatabaseSync | undefined;
  try {
    await mkdir(jobDirectory, { recursive: true });
    // Loaded on first use: Node 22 prints a warning when it loads the module.
    const sqlite = process.getBuiltinModule('node:sqlite');
    holder = new sqlite.DatabaseSync(path.join(jobDirectory, `${role}.lock`));
    holder.exec('BEGIN EXCLUSIVE');
    await writeFile(pidFile, `${process.pid}\n`);
  } catch (error) {
    holder?.close();
    throw (error as { readonly errcode?: number }).errcode === busy
      ? await inUse(jobDirectory, pidFile)
      : notWritable(jobDirectory, error);
  }
  const held = holder;
  return async () => {
    await rm(pidFile, { force: true });
    held.close();
  };
}

async function inUse(jobDirectory: string, pidFile: string): Promise<ConfigError> {
  const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
  const who =
    pid === ''
      ? 'another process'
      : pid === String(process.pid)
        ? 'another run of this process'
        : `process ${pid}`;
  return new ConfigError(
    `Run directory ${jobDirectory} is in use by ${who}. Wait for it, stop it, or give this run another name.`,
    {
      code: 'RUN_LOCKED',
    },
  );
}

function notWritable(jobDirectory: string, cause: unknown): ConfigError {
  return new ConfigError(
    `Run directory ${jobDirectory} cannot be used: ${describeError(cause)}. Set checkpoint_root_dir to a folder that this process may write to.`,
    { code: 'RUN_DIRECTORY', cause },
  );
}
