/** Failures of single rollouts of a group. */
import { describeError, WorkflowError } from '@trinity-rft/core';
import type { WorkflowResult } from './types.js';
import type { Workflow } from './workflow-class.js';

/**
 * Error of a workflow with `canRepeat`, some of whose rollouts failed. The explorer keeps the
 * result of the others, and repeats each failed rollout alone.
 */
export class PartialGroupError extends WorkflowError {
  /** Result of the rollouts that succeeded. */
  readonly result: WorkflowResult;
  /** Errors of the other rollouts, by rollout number. */
  readonly failed: ReadonlyMap<number, unknown>;

  constructor(result: WorkflowResult, failed: ReadonlyMap<number, unknown>) {
    const [cause] = failed.values();
    super(`Rollouts ${[...failed.keys()].join(', ')} of a group failed: ${describeError(cause)}`, {
      code: 'GROUP_PARTLY_FAILED',
      cause,
    });
    this.result = result;
    this.failed = failed;
  }
}

const failedRollouts = new WeakMap<Workflow, ReadonlyMap<number, unknown>>();

/**
 * Records the errors, by rollout number, of rollouts that will be missing in the result of `run`.
 * The errors are thrown after `run`, so that subclasses can process the result of their base class.
 */
export function noteFailedRollouts(workflow: Workflow, failed: ReadonlyMap<number, unknown>): void {
  failedRollouts.set(workflow, new Map([...(failedRollouts.get(workflow) ?? []), ...failed]));
}

/**
 * Calls `run`.
 * @throws PartialGroupError with the result of `run`, if `run` noted failed rollouts
 */
export async function runGroup(workflow: Workflow): Promise<WorkflowResult> {
  failedRollouts.delete(workflow);
  const result = await workflow.run();
  const failed = failedRollouts.get(workflow);
  if (failed) throw new PartialGroupError(result, failed);
  return result;
}
