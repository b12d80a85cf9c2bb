/** Warnings about commits that succeed, but from which the model does not learn as expected. */
import type { Logger, Metrics } from '@trinity-rft/core';

/** Creates a function that checks the metrics of a commit. Each warning appears once. */
export function createCommitWarnings(logger: Pick<Logger, 'warn'>): (metrics: Metrics) => void {
  const warned = new Set<string>();
  const warn = (name: string, text: string): void => {
    const metric = `experience_pipeline/group_advantages/${name}`;
    if (!warned.has(name))
      logger.warn(`${text} This warning appears once; ${metric} is written with every commit.`);
    warned.add(name);
  };
  return (metrics) => {
    const of = (name: string): number | undefined =>
      metrics[`experience_pipeline/group_advantages/${name}`];
    const uneven = of('uneven_runs') ?? 0;
    if (uneven > 0)
      warn(
        'uneven_runs',
        `The answers of ${uneven} attempts have different rewards. Attempts are compared by the reward of their last answer; the others have no effect. Give every answer of an attempt the same reward, or answers that are to be compared different run_ids, or none.`,
      );
    if (of('zero_variance_ratio') === 1)
      warn(
        'zero_variance_ratio',
        'In this commit, no answer has another reward than the other answers with its task_id, so little or nothing is learned from it. Answers are compared within one commit: give those to be compared the same task_id, and commit when all of them are rewarded.',
      );
  };
}
