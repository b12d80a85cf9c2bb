/** Allows only one operating-system process per folder of a training run. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ConfigError, describeError } from '@trinity-rft/core';
import { openSqlite } from '@trinity-rft/core/store';

/** SQLITE_BUSY: another connection holds the lock. */
const busy = 5;
/** Time in ms that a run waits for the lock, which `lockHolder` holds for a moment. */
const checkMs = 250;

/**
 * Locks the folder of a training run, and creates the folder if needed. Returns a function that
 * releases the lock. The lock is an operating-system lock on the empty database `<role>.lock`. It
 * is released even if the process is killed, and a new process with the same id does not inherit
 * it. The file `<role>.pid` is only used in messages. A server without a trainer has a separate
 * lock (`serve`), because another process trains in the same folder.
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
    holder = openSqlite(path.join(jobDirectory, `${role}.lock`), { timeout: checkMs });
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
    // The file is only used in messages, so a failure to remove it must not hide the result of the
    // training run.
    await rm(pidFile, { force: true }).catch(() => undefined);
    held.close();
  };
}

/**
 * Returns the id of the process on this machine that has locked the folder of a training run.
 * Returns undefined if the folder is not locked. Takes a shared lock, so that several processes can
 * check at the same time, also without the right to write.
 */
export async function lockHolder(
  jobDirectory: string,
  role: 'run' | 'serve' = 'run',
): Promise<number | undefined> {
  const file = path.join(jobDirectory, `${role}.lock`);
  if (!existsSync(file)) return undefined;
  const lock = openSqlite(file, { readOnly: true });
  try {
    lock.exec('SELECT 1 FROM sqlite_schema');
    return undefined;
  } catch (error) {
    if ((error as { readonly errcode?: number }).errcode !== busy) throw error;
    // The PID file is written after locking, and removed before unlocking.
    const pidFile = path.join(jobDirectory, `${role}.pid`);
    const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
    return pid > 0 ? pid : undefined;
  } finally {
    lock.close();
  }
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
    { code: 'RUN_LOCKED' },
  );
}

function notWritable(jobDirectory: string, cause: unknown): ConfigError {
  return new ConfigError(
    `Run directory ${jobDirectory} cannot be used: ${describeError(cause)}. Set checkpoint_root_dir to a folder that this process may write to.`,
    { code: 'RUN_DIRECTORY', cause },
  );
}
