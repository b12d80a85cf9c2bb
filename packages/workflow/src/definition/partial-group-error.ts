import { WorkflowError, type Experience } from '@trinity-rft/core';

/**
 * Error of a workflow with `canRepeat`, some of whose rollouts failed. The explorer keeps the
 * experiences of the others, and repeats each failed rollout alone.
 */
export class PartialGroupError extends WorkflowError {
  /** Experiences of the rollouts that succeeded. */
  readonly experiences: readonly Experience[];
  /** Errors of the other rollouts, by number. */
  readonly failed: ReadonlyMap<number, unknown>;

  constructor(experiences: readonly Experience[], failed: ReadonlyMap<number, unknown>) {
    const [cause] = failed.values();
    super(`${failed.size} rollouts of a group failed.`, { code: 'GROUP_PARTLY_FAILED', cause });
    this.experiences = experiences;
    this.failed = failed;
  }
}
