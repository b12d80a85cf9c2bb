/** The base of workflows whose every step has a reward of its own. */
import { withFields, type Experience } from '@trinity-rft/core';
import { integerArg } from '../arguments/workflow-args.js';
import { MultiTurnWorkflow } from './multi-turn-workflow.js';
import { eachStep } from './steps.js';

/**
 * Calls `step` until it returns false, and `reward` after each: what the step recorded gets it,
 * with `eid.step`.
 */
export abstract class StepWiseRewardWorkflow extends MultiTurnWorkflow {
  /** Makes step `stepNum`, from 0. Return false when it was the last. */
  abstract step(stepNum: number): boolean | Promise<boolean>;

  /**
   * The reward of one step, from what it recorded. Not asked for a step without a call of the
   * model.
   */
  abstract reward(experiences: readonly Experience[], stepNum: number): number | Promise<number>;

  /** @default `workflow_args.max_step_num`, else 100 */
  protected get maxStepNum(): number {
    return integerArg(this.task, 'max_step_num', { min: 1, standard: 100 });
  }

  async run(): Promise<readonly Experience[]> {
    const all: Experience[] = [];
    const { maxStepNum } = this;
    for await (const { stepNum, experiences } of eachStep({
      maxStepNum,
      step: (n) => this.step(n),
      extract: () => this.model.extractExperiencesFromHistory(),
    })) {
      if (experiences.length === 0) continue;
      const reward = await this.reward(experiences, stepNum);
      all.push(...experiences.map((experience) => withFields(experience, { reward })));
    }
    return all;
  }
}
