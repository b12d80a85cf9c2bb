/** Records a span for each attempt at a rollout. */
import { inSpan } from './spans.js';

export interface WorkflowSpan {
  /** Name of the workflow. */
  readonly workflow: string;
  /** Name of the rollout, in the form `batch/task/run`. */
  readonly run: string;
  readonly taskset: string;
  readonly row: number;
  readonly isEval: boolean;
  /** Number of the attempt, starting at 0. */
  readonly attempt: number;
}

/**
 * Calls `work` within the span of an attempt.
 * @param rewards returns the rewards in the result of `work`; an empty list for a failed attempt
 */
export const inWorkflowSpan = <T>(
  { workflow, run, taskset, row, isEval, attempt }: WorkflowSpan,
  rewards: (result: T) => readonly (number | undefined)[],
  work: () => Promise<T>,
): Promise<T> =>
  inSpan(
    {
      name: `invoke_workflow ${workflow}`,
      attributes: () => ({
        'gen_ai.operation.name': 'invoke_workflow',
        'gen_ai.workflow.name': workflow,
        'trinity.run': run,
        'trinity.taskset': taskset,
        'trinity.row': row,
        'trinity.eval': isEval,
        'trinity.attempt': attempt,
      }),
      ended: (result) => {
        const known = rewards(result).filter((reward) => reward !== undefined);
        return known.length === 0 ? {} : { 'trinity.reward': known };
      },
    },
    work,
  );
