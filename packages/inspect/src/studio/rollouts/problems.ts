/** Determines the problem of a rollout. */
import type { RunFailure } from './failures.js';
import { runNameOf } from './head.js';
import type { ProblemKind } from './query.js';
import type { RowIndex } from './row-index.js';

export interface Problem {
  readonly kind: ProblemKind;
  readonly text: string;
}

export interface ProblemFacts {
  /** Recorded problem of each call, in order; undefined for calls without a problem. */
  readonly recorded: readonly (string | undefined)[];
  readonly failure: RunFailure | undefined;
  /** True if a train step dropped one of the calls. */
  readonly isDropped: boolean;
}

const dropped: Problem = { kind: 'dropped', text: 'not trained on: too old or surplus' };

/**
 * Returns the worst problem of a rollout. From worst to mildest, these are: an error of the rollout
 * that received the failure reward, the last fault of the model, the last other problem of a call,
 * and a dropped call.
 */
export function problemOfRollout(facts: ProblemFacts): Problem | undefined {
  const { recorded, failure, isDropped } = facts;
  // Failed attempts without the failure reward were retried.
  if (failure?.isRewarded === true) return { kind: 'failed', text: failure.message };
  const text = recorded.findLast(isFault) ?? recorded.findLast((problem) => problem !== undefined);
  if (text !== undefined) return { kind: isFault(text) ? 'fault' : 'truncated', text };
  return isDropped ? dropped : undefined;
}

const isFault = (problem: string | undefined): boolean => problem?.startsWith('fault: ') === true;

/** Returns a function that reads the problem of a rollout from the index. */
export function problemReader(
  { columns, chains }: Pick<RowIndex, 'columns' | 'chains'>,
  failures: ReadonlyMap<string, RunFailure>,
): (rollout: number) => Problem | undefined {
  const nameAt = (position: number): string =>
    runNameOf({
      batch: columns.batch.at(position) ?? '',
      task: columns.task.at(position) ?? '',
      run: columns.run.at(position),
    });
  return (rollout) => {
    const calls = chains.calls(rollout);
    return problemOfRollout({
      recorded: calls.map(columns.problem.at),
      failure: failures.size === 0 ? undefined : failures.get(nameAt(chains.first(rollout))),
      isDropped: calls.some((position) => columns.dropped.at(position) === 1),
    });
  };
}
