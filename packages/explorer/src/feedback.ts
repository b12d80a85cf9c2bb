/**
 * Queue of results for the task feed. A step is planned before earlier steps are finished, so the
 * state that is stored with a step also contains the results that the feed received only after this
 * step was planned.
 */
import type { RowFeedback } from '@trinity-rft/core/store';
import type { TaskFeed } from './explorer-options.js';

export interface FeedbackLine {
  /** Returns the last explore step whose results have reached the feed. */
  passedUpTo(): number;
  /** Passes the results of all finished steps to the feed. */
  pass(): void;
  /**
   * Adds the results of a finished step.
   * @param plannedAfter value of `passedUpTo` when the step was planned
   * @returns results that the feed had not received when the step was planned, or undefined if the
   * feed takes no results
   */
  add(
    step: number,
    plannedAfter: number,
    feedback: readonly RowFeedback[],
  ): readonly RowFeedback[] | undefined;
  /**
   * Replaces all results with those stored for explore step `step`. Called when a training run
   * resumes.
   */
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
