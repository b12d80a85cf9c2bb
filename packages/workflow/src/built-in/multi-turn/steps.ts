/** Runs rollouts that consist of steps. Each step may call the model several times. */
import { type Experience, withFields } from '@trinity-rft/core';
import { z } from 'zod';
import { count } from '../task-args.js';

/**
 * Schema of the `workflow_args` that step-based workflows read. A subclass may have further
 * arguments.
 */
export const stepArgs = z.looseObject({ max_step_num: count().default(100) });

export interface Steps {
  readonly maxStepNum: number;
  /** Performs step `stepNum`, counted from 0. Returns false after the last step. */
  readonly step: (stepNum: number) => boolean | Promise<boolean>;
  /** Returns the model calls that were recorded since the previous call of `extract`. */
  readonly extract: () => readonly Experience[];
}

export interface StepExperiences {
  readonly stepNum: number;
  /** Experiences of the step, with `eid.step` set. Empty if the step did not call the model. */
  readonly experiences: readonly Experience[];
}

/**
 * Calls `step` repeatedly, and yields the experiences of each step. Ends after the last step, after
 * `maxStepNum` steps, or after a step with a truncated response, because later steps would continue
 * from an incomplete response.
 */
export async function* eachStep({
  maxStepNum,
  step,
  extract,
}: Steps): AsyncGenerator<StepExperiences> {
  for (let stepNum = 0; stepNum < maxStepNum; stepNum++) {
    const more = await step(stepNum);
    const experiences = extract();
    // The suffix is empty, so that the explorer numbers the calls of a step.
    yield {
      stepNum,
      experiences: experiences.map((experience) =>
        withFields(experience, { eid: { ...experience.eid, step: stepNum, suffix: '' } }),
      ),
    };
    if (!more || experiences.some(({ truncateStatus }) => truncateStatus !== undefined)) return;
  }
}
