/** The base of workflows with one reward at the end, which all steps get. */
import { withFields, type Experience } from '@trinity-rft/core';
import { integerArg } from '../arguments/workflow-args.js';
import { MultiTurnWorkflow } from './multi-turn-workflow.js';
import { eachStep } from './steps.js';

/**
 * Calls `step` until it returns false, then `reward` once. Metric `actual_env_steps`: steps that
 * were made.
 */
export abstract class RewardPropagationWorkflow extends MultiTurnWorkflow {
  /** Makes step `stepNum`, from 0. Return false when it was the last. */
  abstract step(stepNum: number): boolean | Promise<boolean>;

  /** The reward of the whole run, from everything it recorded. */
  abstract reward(experiences: readonly Experience[]): number | Promise<number>;

  /** @default `workflow_args.max_step_num`, else 100 */
  protected get maxStepNum(): number {
    return integerArg(this.task, 'max_step_num', { min: 1, standard: 100 });
  }

  async run(): Promise<readonly Experience[]> {
    const all: Experience[] = [];
    let steps = 0;
    const { maxStepNum } = this;
    for await (const { stepNum, experiences } of eachStep({
      maxStepNum,
      step: (n) => this.step(n),
      extract: () => this.model.extractExperiencesFromHistory(),
    })) {
      steps = stepNum + 1;
      all.push(...experiences);
    }
    const reward = await this.reward(all);
    return all.map((experience) =>
      withFields(experience, {
        reward,
        metrics: { ...experience.metrics, actual_env_steps: steps },
      }),
    );
  }
}
