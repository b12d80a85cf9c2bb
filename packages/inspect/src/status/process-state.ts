/** State of a process on this machine, from the operating system. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isProcessAlive } from '@trinity-rft/core/support';

/**
 * State of a process. `stopped` means that SIGSTOP or a debugger stopped the process; it continues
 * after SIGCONT.
 */
export type ProcessState = 'running' | 'stopped' | 'gone';

/**
 * State of a process; undefined if it runs on another machine, whose processes cannot be looked up.
 * @param here name of this machine
 */
export function processState(
  { pid, host }: { readonly pid: number; readonly host: string },
  here = hostname(),
): ProcessState | undefined {
  if (host !== here) return undefined;
  if (!isProcessAlive(pid)) return 'gone';
  const letter = stateLetter(pid);
  if (letter === 'Z' || letter === 'X') return 'gone';
  return letter === 'T' || letter === 't' ? 'stopped' : 'running';
}

/**
 * Returns the state letter of a process from `/proc`, if `/proc` exists. The letter follows the
 * name of the process, which is in parentheses.
 */
function stateLetter(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).charAt(0);
  } catch {
    return undefined;
  }
}
