/**
 * Processes of this machine: checks that they exist, and ends those that this process has started.
 */
import type { ChildProcess } from 'node:child_process';

/**
 * True if a process with that id exists, even if it belongs to another user, or has ended but was
 * not waited for (a zombie).
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
 * Sends a signal to the process group of a child that was started with `detached`; on Windows to
 * the child alone. Signal 0 only checks.
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
