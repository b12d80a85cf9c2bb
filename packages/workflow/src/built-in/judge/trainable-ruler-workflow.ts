/**
 * `math_trainable_ruler_workflow`: RULER in which the trained model is also the judge, and learns
 * to judge.
 */
import { createExperience, type ChatResponse, type Experience, mean } from '@trinity-rft/core';
import { countPerLogger } from '@trinity-rft/core/support';
import { createRewardFn } from '../../reward/index.js';
import { z } from 'zod';
import { otherRewards, readAs } from '../../definition/other-names.js';
import { requirePrompt } from '../../definition/require-prompt.js';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import { chatOptions } from '../task-args.js';
import { scoreChoice } from '../../scoring/score-response.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import { parseScores } from './parse-judge-reply.js';
import { rulerPrompt } from './ruler-prompt.js';

const shareError = 'expected a number from 0 to 1';

export const trainableRulerArgs = z.strictObject({
  ground_truth_ratio: z.number(shareError).min(0, shareError).max(1, shareError).default(0.2),
});

/** Range of the rewards of `math_reward`, from which they are scaled to [0, 1]. */
const mathRange = { min: -0.1, max: 1.1 };

/** Counts the rewards out of range by the name of their reward function. */
const countOf = countPerLogger();

/**
 * RULER in which the trained model is also the judge. For a random share of the tasks
 * (`workflow_args.ground_truth_ratio`, default 0.2), the reward function (default `math_reward`)
 * scores the answers, and the model learns to judge: as many verdicts as answers are sampled, and
 * trained on as a separate group, whose task id ends in `-ruler`. The reward of a verdict is 1 -
 * mean(|score - gold|), or 0 for an invalid list. Gold is the score by the reward function, cut off
 * to [0, 1]; that of `math_reward` is scaled first. For the other tasks, the model gives one
 * verdict, whose scores are the rewards of the answers.
 */
export class MathTrainableRulerWorkflow extends SimpleWorkflow {
  override async run(): Promise<readonly Experience[]> {
    const responses = await this.respond();
    const golds = await this.#goldScores(responses);
    const usesTruth = this.#usesTruth();
    const verdicts = await this.#judge(responses, usesTruth ? this.repeatTimes : 1);
    const lists = verdicts.map(({ responseText }) => parseScores(responseText, responses.length));
    const success = lists.filter((list) => list !== undefined).length / lists.length;
    const answers = golds.map(({ response, reward, parts }, index) =>
      this.experienceOf(response, index, {
        reward: usesTruth ? reward : (lists[0]?.[index] ?? 0),
        metrics: { ...parts, gold_reward: reward, judge_success: success },
      }),
    );
    if (!usesTruth) return answers;
    const scaled = golds.map(({ reward }) => this.#scaled(reward));
    const judged = verdicts.map((verdict, index) =>
      this.#verdictExperience(verdict, index, verdictReward(lists[index], scaled)),
    );
    // The verdicts come first, because the last experience of a rollout holds its reward.
    return [...judged, ...answers];
  }

  #goldScores(responses: readonly ChatResponse[]) {
    const rewardFn = this.rewardFn ?? createRewardFn('math_reward', {});
    return Promise.all(
      responses.map(async (response) => ({
        response,
        ...(await scoreChoice(rewardFn, this.task, response)),
      })),
    );
  }

  /** Returns the reward in [0, 1]. Warns once per reward function if rewards are cut off. */
  #scaled(reward: number): number {
    const { rewardFn: name = '' } = this.task;
    const isMath = this.rewardFn === undefined || isMathReward(name);
    const { min, max } = isMath ? mathRange : { min: 0, max: 1 };
    const { logger } = this.runtime;
    const slack = 1e-9;
    if ((reward < min - slack || reward > max + slack) && countOf(logger, name) === 1)
      logger.warn(
        `The reward function${name === '' ? '' : ` "${name}"`} returned ${reward}; math_trainable_ruler_workflow cuts rewards off to ${min} to ${max} when it compares them with the scores of its judge. To compare all of them, choose a reward function in this range, such as accuracy_reward.`,
      );
    return Math.min(1, Math.max(0, (reward - min) / (max - min)));
  }

  #usesTruth(): boolean {
    const { batchId, taskId, workflowArgs } = this.task;
    const { ground_truth_ratio: ratio } = readWorkflowArgs(trainableRulerArgs, workflowArgs);
    return this.runtime.random('trainable_ruler', batchId, taskId).next() < ratio;
  }

  #judge(responses: readonly ChatResponse[], n: number): Promise<readonly ChatResponse[]> {
    const { task, signal } = this;
    return this.model.chat(rulerPrompt(requirePrompt(task), responses), {
      n,
      signal,
      ...chatOptions(task.rolloutArgs),
    });
  }

  #verdictExperience(verdict: ChatResponse, index: number, reward: number): Experience {
    const eid = { task: `${this.task.taskId}-ruler`, run: this.runIdBase + index };
    return createExperience({ ...verdict, reward, eid, metrics: { reward_for_judge: reward } });
  }
}

const isMathReward = (name: string): boolean =>
  name === 'math_reward' || readAs(name, ['math_reward'], otherRewards) !== undefined;

function verdictReward(scores: readonly number[] | undefined, golds: readonly number[]): number {
  if (!scores) return 0;
  return 1 - mean(golds.map((gold, i) => Math.abs((scores[i] ?? 0) - gold)));
}
