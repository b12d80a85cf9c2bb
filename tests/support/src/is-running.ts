import { readFileSync } from 'node:fs';

/**
 * Returns true if a process is running. A process that has ended, but whose exit status was not read,
 * is not running. Use it with `expect.poll`: a process that was killed closes its pipes a moment
 * before it ends.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
