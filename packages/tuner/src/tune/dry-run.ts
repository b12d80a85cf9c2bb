/**
 * One row, run once with the untrained model and thrown away: broken functions are found before
 * anything is trained.
 */
import type { ResolvedConfig } from '@trinity-rft/config';
import {
  describeError,
  silentLogger,
  TaskError,
  WorkflowError,
  type Logger,
} from '@trinity-rft/core';
import { openRollouts } from '@trinity-rft/launcher';
import type { WorkflowDefinition } from '@trinity-rft/workflow';

export interface DryRunOptions {
  readonly config: ResolvedConfig;
  readonly workflow: WorkflowDefinition;
  readonly logger?: Logger;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Attempts are repeated as in training, since a model that knows nothing may write what an agent
 * cannot read.
 * @throws the function's own InvalidOutputError, WorkflowError DRY_RUN_FAILED when no attempt
 * succeeds
 */
export async function dryRun({
  config,
  workflow,
  logger = silentLogger,
  signal,
}: DryRunOptions): Promise<void> {
  const rollouts = await openRollouts({
    config,
    workflows: [workflow],
    logger,
    ...(signal && { signal }),
  });
  try {
    const [task] = rollouts.tasks;
    if (!task)
      throw new TaskError('The data set holds no rows; expected at least one.', {
        code: 'TASKSET_EMPTY',
      });
    const outcome = await rollouts.run(task, workflow);
    // Not the function's fault: such rows are counted in training, and passed over.
    if (outcome.status === 'ok' || outcome.kind === 'prompt_too_long') return;
    const { error } = outcome;
    if (error instanceof WorkflowError && error.code !== 'WORKFLOW_THREW') throw error;
    throw new WorkflowError(
      `The dry run on the first row failed, and nothing was trained: ${describeError(error)} Correct the function; pass dryRun: false if it fails only at times.`,
      { code: 'DRY_RUN_FAILED', cause: error },
    );
  } finally {
    await rollouts.close();
  }
}
