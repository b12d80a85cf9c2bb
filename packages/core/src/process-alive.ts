/**
 * Checks that operating-system processes of this machine exist, and sends signals to child
 * processes.
 */
import type { ChildProcess } from 'node:child_process';

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
