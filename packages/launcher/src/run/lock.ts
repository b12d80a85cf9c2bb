/** Allows only one process per folder of a training run. */
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ConfigError, describeError } from '@trinity-rft/core';
import { shellText } from '@trinity-rft/core/support';
import { isLocked, lockFile } from '@trinity-rft/core/store';

/**
 * Locks the folder of a training run, and creates the folder if needed. Returns a function that
 * releases the lock. The lock is an operating-system lock on the empty database `<role>.lock`. It
 * is released even if the process is killed, and a new process with the same id does not inherit
 * it. The file `<role>.pid` is only used in messages. A server without a trainer has a separate
 * lock (`serve`), because another process trains in the same folder.
 * @param otherwise what the user can do instead of stopping the process that holds the lock
 * @throws ConfigError naming the process that holds the lock, or the folder that cannot be written
 */
export async function lockRun(
  jobDirectory: string,
  role: 'run' | 'serve' = 'run',
  otherwise = 'give this run another name',
): Promise<() => Promise<void>> {
  const pidFile = path.join(jobDirectory, `${role}.pid`);
  let held: DatabaseSync | undefined;
  try {
    await mkdir(jobDirectory, { recursive: true });
    held = lockFile(path.join(jobDirectory, `${role}.lock`));
    // Written at once, because the file of a killed process names a process that may be another
    // program by now.
    if (held) writeFileSync(pidFile, `${process.pid}\n`);
  } catch (error) {
    held?.close();
    throw notWritable(jobDirectory, role, error);
  }
  if (held === undefined) throw await inUse(jobDirectory, pidFile, otherwise);
  const holder = held;
  return async () => {
    // The file is only used in messages, so a failure to remove it must not hide the result of the
    // training run.
    await rm(pidFile, { force: true }).catch(() => undefined);
    holder.close();
  };
}

/**
 * Returns the id of the process on this machine that has locked the folder of a training run, or
 * undefined if the folder is not locked. Uses a shared lock for this, so that several processes can
 * check at the same time, even without write permission.
 */
export async function lockHolder(
  jobDirectory: string,
  role: 'run' | 'serve' = 'run',
): Promise<number | undefined> {
  const file = path.join(jobDirectory, `${role}.lock`);
  if (!existsSync(file) || !isLocked(file)) return undefined;
  // The PID file is written after locking, and removed before unlocking.
  const pidFile = path.join(jobDirectory, `${role}.pid`);
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  return pid > 0 ? pid : undefined;
}

async function inUse(
  jobDirectory: string,
  pidFile: string,
  otherwise: string,
): Promise<ConfigError> {
  const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
  const who =
    pid === ''
      ? 'another process'
      : pid === String(process.pid)
        ? 'another run of this process'
        : `process ${pid}`;
  return new ConfigError(
    `Run directory ${jobDirectory} is in use by ${who}. Wait for it, stop it, or ${otherwise}.`,
    { code: 'RUN_LOCKED' },
  );
}

function notWritable(jobDirectory: string, role: 'run' | 'serve', cause: unknown): ConfigError {
  const remedy =
    role === 'serve' && existsSync(path.join(jobDirectory, 'latest_checkpointed_iteration.txt'))
      ? `To serve it without recording, use trinity serve --model NAME=${shellText(jobDirectory)}`
      : 'Set checkpoint_root_dir to a folder that this process may write to';
  return new ConfigError(
    `Run directory ${jobDirectory} cannot be used: ${describeError(cause)}. ${remedy}.`,
    { code: 'RUN_DIRECTORY', cause },
  );
}
