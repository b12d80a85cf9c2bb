/** Base class of workflows in which every step has its own reward. */
import { type Experience, withFields } from '@trinity-rft/core';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import { MultiTurnWorkflow } from './multi-turn-workflow.js';
import { eachStep, stepArgs } from './steps.js';

/**
 * Calls `step` until the rollout ends (see `eachStep`). After each step, calls `reward`, whose
 * result is the reward of the model calls that were recorded during the step. Their `eid.step` is
 * the number of the step. Algorithms that add up the rewards of steps read `info.step_reward`,
 * which is the result at the last call of the step, and 0 at its other calls.
 */
export abstract class StepWiseRewardWorkflow extends MultiTurnWorkflow {
  /** Performs step `stepNum`, counted from 0. Returns false after the last step. */
  abstract step(stepNum: number): boolean | Promise<boolean>;

  /**
   * Returns the reward of one step, computed from its recorded calls. Not called for a step without
   * recorded calls.
   */
  abstract reward(experiences: readonly Experience[], stepNum: number): number | Promise<number>;

  /** Maximum number of steps. @default `workflow_args.max_step_num`, else 100 */
  protected get maxStepNum(): number {
    return readWorkflowArgs(stepArgs, this.task.workflowArgs).max_step_num;
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
      all.push(
        ...experiences.map((experience, i) => {
          const isLast = i === experiences.length - 1;
          const info = { ...experience.info, step_reward: isLast ? reward : 0 };
          return withFields(experience, { reward, info });
        }),
      );
    }
    return all;
  }
}
