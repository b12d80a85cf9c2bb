/** Warnings about commits that succeed, but from which the model does not learn as expected. */
import {
  groupBy,
  runKey,
  taskKey,
  type Experience,
  type Logger,
  type Metrics,
} from '@trinity-rft/core';

/** Checks the metrics that the pipeline wrote for the experiences of a commit. */
type CheckCommit = (metrics: Metrics, experiences: readonly Experience[]) => void;

/**
 * Creates a function that checks commits. Each warning appears once.
 * @param compares true if the advantage function compares the attempts at a task with each other
 */
export function createCommitWarnings(logger: Pick<Logger, 'warn'>, compares: boolean): CheckCommit {
  const warned = new Set<string>();
  const warn = (name: string, text: string): void => {
    const metric = `experience_pipeline/group_advantages/${name}`;
    if (!warned.has(name))
      logger.warn(`${text} This warning appears once; ${metric} is written with every commit.`);
    warned.add(name);
  };
  return (metrics, experiences) => {
    const of = (name: string): number | undefined =>
      metrics[`experience_pipeline/group_advantages/${name}`];
    const uneven = of('uneven_runs') ?? 0;
    if (uneven > 0)
      warn(
        'uneven_runs',
        `The answers of ${uneven} attempts have different rewards. Attempts are compared by the reward of their last answer; the others have no effect. Give every answer of an attempt the same reward, or answers that are to be compared different run_ids, or none.`,
      );
    if (!compares || of('zero_variance_ratio') !== 1) return;
    const isAlone = groupBy(experiences, ({ eid }) => taskKey(eid)).size === runsIn(experiences);
    warn(
      'zero_variance_ratio',
      isAlone
        ? 'In this commit, every attempt has a task of its own, so none is compared with another: each is learned from by its reward alone, whatever the others got. To compare answers, give them the same task_id, and commit when all of them are rewarded.'
        : 'In this commit, all attempts with the same task_id have the same reward, so comparing them teaches nothing. Commit when all answers of a task are rewarded.',
    );
  };
}

const runsIn = (experiences: readonly Experience[]): number =>
  groupBy(experiences, ({ eid }) => runKey(eid)).size;
