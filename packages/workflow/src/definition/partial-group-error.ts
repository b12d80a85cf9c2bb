/** Reports that some rollouts of a group failed. */
import { describeError, WorkflowError } from '@trinity-rft/core';
import type { WorkflowResult } from './types.js';
import type { Workflow } from './workflow-class.js';

/**
 * Error that a group of rollouts failed partly, for a workflow with `canRepeat`. The explorer keeps
 * the result of the other rollouts, and repeats each failed rollout alone.
 */
export class PartialGroupError extends WorkflowError {
  /** Result of the rollouts that succeeded. */
  readonly result: WorkflowResult;
  /** Errors of the failed rollouts, by rollout number. */
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
 * Records the errors of rollouts whose experiences will be missing in the result of `run`, by
 * rollout number. {@link runGroup} reports them after `run`, so that a subclass can process the
 * result of its base class.
 */
export function noteFailedRollouts(workflow: Workflow, failed: ReadonlyMap<number, unknown>): void {
  failedRollouts.set(workflow, new Map([...(failedRollouts.get(workflow) ?? []), ...failed]));
}

/**
 * Calls `run`, and returns its result.
 * @throws PartialGroupError with the result of `run`, if failed rollouts were noted during the call
 */
export async function runGroup(workflow: Workflow): Promise<WorkflowResult> {
  failedRollouts.delete(workflow);
  const result = await workflow.run();
  const failed = failedRollouts.get(workflow);
  if (failed) throw new PartialGroupError(result, failed);
  return result;
}
