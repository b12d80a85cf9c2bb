import { ConfigError } from '@trinity-rft/core';
import { lockHolder } from '@trinity-rft/launcher/files';

/**
 * Ends the process of a run after the current step and a checkpoint. A second call ends the process
 * at once.
 * @param job the folder of the run
 * @returns id of the process
 * @throws ConfigError when no process of this machine works on the run
 */
export async function stopRun(job: string): Promise<number> {
  // Reads the id from a lock, because an id in a file may be left over, and may by now belong to
  // another process.
  const pid = (await lockHolder(job)) ?? (await lockHolder(job, 'serve'));
  if (pid === undefined)
    throw new ConfigError(`No process of this machine makes the run in ${job}.`, {
      code: 'RUN_NOT_STARTED',
    });
  process.kill(pid, 'SIGTERM');
  return pid;
}
