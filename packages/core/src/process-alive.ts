/**
 * Checks that processes of this machine exist, and ends child processes and their pipes, at the
 * latest when this process exits.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Returns true if a process with this id exists. Includes processes of other users, and zombies
 * (processes that have ended, but whose exit status the parent has not read).
 */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Sends a signal to the process group of a child that was started with `detached`. On Windows,
 * sends the signal to the child alone. Signal 0 only checks that a process exists.
 * @returns false if no process received the signal
 */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false;
  try {
    return process.platform === 'win32' ? child.kill(signal) : process.kill(-child.pid, signal);
  } catch {
    return false;
  }
}

/**
 * Reads the remaining output of a child that has exited, and closes its pipes. Waits for at most a
 * second, because a process that has left the process group of the child may keep a pipe open.
 */
export async function readToEnd(child: ChildProcess): Promise<void> {
  // Without free file descriptors, a child that was not started has no `stdio`.
  const stdio = (child.stdio as ChildProcess['stdio'] | undefined) ?? [];
  const pipes = [...stdio].filter((pipe) => pipe !== null && pipe !== undefined);
  const closed = pipes
    .filter((pipe) => !pipe.closed)
    .map((pipe) => new Promise((resolve) => pipe.once('close', resolve)));
  await Promise.race([Promise.all(closed), sleep(1000, undefined, { ref: false })]);
  for (const pipe of pipes) pipe.destroy();
}

/** Work of {@link atExit}. It shares one listener, because Node warns of more than ten. */
const atExitWork = new Set<() => void>();

/**
 * Registers synchronous work for the exit of this process, such as the end of a child that is still
 * being given time to end by itself. Errors of the work are ignored.
 * @returns function that removes the work
 */
export function atExit(work: () => void): () => void {
  if (atExitWork.size === 0) process.on('exit', doWork);
  atExitWork.add(work);
  return () => {
    atExitWork.delete(work);
    if (atExitWork.size === 0) process.off('exit', doWork);
  };
}

function doWork(): void {
  for (const work of atExitWork) {
    try {
      work();
    } catch {
      // The other work remains to be done.
    }
  }
}
