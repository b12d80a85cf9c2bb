/** Ends the process of a run as Ctrl-C does. */
import { ConfigError } from '@trinity-rft/core';
import { lockHolder } from '@trinity-rft/launcher/files';

/**
 * Ends the process after its current step and a checkpoint; a second call ends it at once.
 * @param job the folder of the run
 * @throws ConfigError when no process of this machine works on the run
 */
export async function stopRun(job: string): Promise<number> {
  // A file with a process id may be left over, and another process may have this id by now. A lock
  // cannot be left over.
  const pid = (await lockHolder(job)) ?? (await lockHolder(job, 'serve'));
  if (pid === undefined)
    throw new ConfigError(`No process of this machine makes the run in ${job}.`, {
      code: 'RUN_NOT_STARTED',
    });
  process.kill(pid, 'SIGTERM');
  return pid;
}
