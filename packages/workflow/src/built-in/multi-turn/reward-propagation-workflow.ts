/** Base class of workflows in which all steps receive the final reward of the rollout. */
import { type Experience, withFields } from '@trinity-rft/core';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import { MultiTurnWorkflow } from './multi-turn-workflow.js';
import { eachStep, stepArgs } from './steps.js';

/**
 * Calls `step` until the rollout ends (see `eachStep`), then calls `reward` once. The metric
 * `actual_env_steps` is the number of steps.
 */
export abstract class RewardPropagationWorkflow extends MultiTurnWorkflow {
  /** Performs step `stepNum`, counted from 0. Returns false after the last step. */
  abstract step(stepNum: number): boolean | Promise<boolean>;

  /** Returns the reward of the whole rollout, computed from all its recorded calls. */
  abstract reward(experiences: readonly Experience[]): number | Promise<number>;

  /** Maximum number of steps. @default `workflow_args.max_step_num`, else 100 */
  protected get maxStepNum(): number {
    return readWorkflowArgs(stepArgs, this.task.workflowArgs).max_step_num;
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
