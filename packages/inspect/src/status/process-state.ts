/** State of a process on this machine, from the operating system. */
import { readFileSync } from 'node:fs';
import { isProcessAlive } from '@trinity-rft/core/support';

/** `stopped` means by SIGSTOP or a debugger; the process continues after SIGCONT. */
export type ProcessState = 'running' | 'stopped' | 'gone';

export function processState(pid: number): ProcessState {
  if (!isProcessAlive(pid)) return 'gone';
  const letter = stateLetter(pid);
  if (letter === 'Z' || letter === 'X') return 'gone';
  return letter === 'T' || letter === 't' ? 'stopped' : 'running';
}

/** State letter in `/proc`, if that exists: the field after the name, which is in brackets. */
function stateLetter(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).charAt(0);
  } catch {
    return undefined;
  }
}
