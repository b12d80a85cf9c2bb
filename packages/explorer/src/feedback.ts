/**
 * Results on their way to the feed of tasks. Steps are planned before earlier ones are finished, so the
 * state that is stored with a step has what the feed learned since that step was planned beside it.
 */
import type { RowFeedback } from '@trinity-rft/core/store';
import type { TaskFeed } from './explorer-options.js';

export interface FeedbackLine {
  /** Explore steps up to this one have reached the feed. */
  passedUpTo(): number;
  /** Passes the results of all finished steps on. */
  pass(): void;
  /**
   * Adds the results of a finished step.
   * @param plannedAfter `passedUpTo` when it was planned
   * @returns what a feed in the state of that plan lacks; undefined if no feed wants it
   */
  add(
    step: number,
    plannedAfter: number,
    feedback: readonly RowFeedback[],
  ): readonly RowFeedback[] | undefined;
  /** @param feedback stored with explore step `step` */
  restore(step: number, feedback: readonly RowFeedback[]): void;
}

interface StepFeedback {
  readonly step: number;
  readonly feedback: readonly RowFeedback[];
}

export function createFeedbackLine(feed: Pick<TaskFeed, 'feedback'>): FeedbackLine {
  let steps: readonly StepFeedback[] = [];
  let passed = 0;
  return {
    passedUpTo: () => passed,
    pass: () => {
      const added = steps.filter(({ step }) => step > passed);
      feed.feedback?.(added.flatMap(({ feedback }) => feedback));
      passed = added.at(-1)?.step ?? passed;
    },
    add: (step, plannedAfter, feedback) => {
      if (!feed.feedback) return undefined;
      steps = [...steps.filter((earlier) => earlier.step > plannedAfter), { step, feedback }];
      return steps.flatMap((each) => each.feedback);
    },
    restore: (step, feedback) => {
      steps = [{ step, feedback }];
      passed = step - 1;
    },
  };
}
