import { type Task, InvariantError } from '@trinity-rft/core';
import { createInstancePool, runTask, type RunOutcome } from '@trinity-rft/explorer';

type RunTaskOptions = Parameters<typeof runTask>[1];

/** Runs a task once. Errors of the workflow are part of the outcome. */
export async function runOnce(
  task: Task,
  options: Omit<RunTaskOptions, 'limit' | 'pool'> & Partial<Pick<RunTaskOptions, 'pool'>>,
): Promise<RunOutcome> {
  const { runs } = await runTask(
    { ...task, repeatTimes: 1 },
    { pool: createInstancePool(), ...options, limit: (work) => work() },
  );
  const [outcome] = runs;
  if (!outcome) throw new InvariantError('A task that ran once has no outcome.');
  return outcome;
}
