/**
 * Finds broken functions early, by running one row with the untrained model and discarding the
 * result.
 */
import type { ResolvedConfig } from '@trinity-rft/config';
import {
  describeError,
  type Clock,
  type Logger,
  systemClock,
  TaskError,
  WorkflowError,
} from '@trinity-rft/core';
import { waitingFor } from '@trinity-rft/core/support';
import { openRollouts } from '@trinity-rft/inspect';
import { createLogger, type Terminal } from '@trinity-rft/monitor';
import type { WorkflowDefinition } from '@trinity-rft/workflow';

export interface DryRunOptions {
  readonly config: ResolvedConfig;
  readonly workflow: WorkflowDefinition;
  /** Terminal for long waits and failed attempts. */
  readonly terminal: Terminal;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/**
 * Runs the functions on the first row. Retries failures as in training, because the output of an
 * untrained model may make an agent fail.
 * @throws InvalidOutputError if a function returns an invalid result; WorkflowError DRY_RUN_FAILED
 * if every attempt fails
 */
export async function dryRun(options: DryRunOptions): Promise<void> {
  const { terminal, clock = systemClock } = options;
  const logger = createLogger({
    level: 'warn',
    write: () => undefined,
    clock,
    console: (line) => terminal.write(`${line}\n`),
  });
  const wait = { what: 'the dry run on the first row' };
  await waitingFor({ clock, logger }, wait, () => runFirst({ ...options, clock, logger }));
}

async function runFirst({
  workflow,
  ...options
}: DryRunOptions & { readonly clock: Clock; readonly logger: Logger }): Promise<void> {
  const rollouts = await openRollouts({ ...options, workflows: [workflow] });
  try {
    const [task] = rollouts.tasks;
    if (!task)
      throw new TaskError('The data set is empty; expected at least one row.', {
        code: 'TASKSET_EMPTY',
      });
    const outcome = await rollouts.run(task, workflow);
    // Training counts and skips rows whose prompt is too long, so such a row says nothing about the
    // function.
    if (outcome.status === 'ok' || outcome.kind === 'prompt_too_long') return;
    const { error } = outcome;
    if (error instanceof WorkflowError && error.code !== 'WORKFLOW_THREW') throw error;
    throw new WorkflowError(
      'The dry run on the first row failed, so nothing was trained: ' +
        `${describeError(error)} Fix the function, ` +
        'or pass dryRun: false if it fails only occasionally.',
      { code: 'DRY_RUN_FAILED', cause: error },
    );
  } finally {
    await rollouts.close();
  }
}
