/**
 * Runs in steps: each may call the model several times, until the workflow says that it is done.
 */
import { withFields, type Experience } from '@trinity-rft/core';

export interface Steps {
  readonly maxStepNum: number;
  /** Makes step `stepNum`, from 0; false = it was the last. */
  readonly step: (stepNum: number) => boolean | Promise<boolean>;
  /** What was recorded since the last time. */
  readonly extract: () => readonly Experience[];
}

export interface StepExperiences {
  readonly stepNum: number;
  /** Of this step, `eid.step` set. Empty when it did not call the model. */
  readonly experiences: readonly Experience[];
}

/**
 * Ends after the last step, after `maxStepNum` steps, or after an answer that was cut off: what
 * follows it would not make sense.
 */
export async function* eachStep({
  maxStepNum,
  step,
  extract,
}: Steps): AsyncGenerator<StepExperiences> {
  for (let stepNum = 0; stepNum < maxStepNum; stepNum++) {
    const more = await step(stepNum);
    const experiences = extract();
    // The explorer numbers what shares a step.
    yield {
      stepNum,
      experiences: experiences.map((experience) =>
        withFields(experience, { eid: { ...experience.eid, step: stepNum, suffix: '' } }),
      ),
    };
    if (!more || experiences.some(({ truncateStatus }) => truncateStatus !== undefined)) return;
  }
}
