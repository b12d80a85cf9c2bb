/**
 * `math_trainable_ruler_workflow`: RULER in which the trained model is its own judge, and learns to
 * judge.
 */
import {
  createExperience,
  mean,
  taskPrompt,
  type ChatResponse,
  type Experience,
} from '@trinity-rft/core';
import { createRewardFn } from '@trinity-rft/reward';
import { chatOptions } from '../arguments/chat-options.js';
import { scoreChoice } from '../../scoring/score-response.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import { wrongArg } from '../arguments/workflow-args.js';
import { parseScores } from './parse-judge-reply.js';
import { rulerPrompt } from './ruler-prompt.js';

/** Range of `math_reward`, which is brought to [0, 1]. */
const gold = { least: -0.1, width: 1.2 };

/**
 * For a share of the tasks (`workflow_args.ground_truth_ratio`, 0.2) the truth is used: answers get
 * what the reward function (`math_reward`) says, and as many verdicts are sampled, which are
 * trained on too, as a group of their own (task id with `-ruler`). Their reward is 1 - mean |score
 * - gold|, 0 for what is no list. For the other tasks one verdict is the reward.
 */
export class MathTrainableRulerWorkflow extends SimpleWorkflow {
  override async run(): Promise<readonly Experience[]> {
    const { task } = this;
    const responses = await this.respond();
    const rewardFn = this.rewardFn ?? createRewardFn('math_reward', {});
    const golds = await Promise.all(
      responses.map((response) => scoreChoice(rewardFn, task, response)),
    );
    const knowsTruth =
      this.runtime.random('trainable_ruler', task.batchId, task.taskId).next() <
      this.#groundTruthRatio();
    const verdicts = await this.#judge(responses, knowsTruth ? this.repeatTimes : 1);
    const scores = verdicts.map(({ responseText }) => parseScores(responseText, responses.length));
    const success = scores.filter((list) => list !== undefined).length / scores.length;
    const answers = responses.map((response, index) => {
      const { reward, parts } = golds[index]!;
      const metrics = { ...parts, gold_reward: reward, judge_success: success };
      return this.experienceOf(response, index, {
        reward: knowsTruth ? reward : (scores[0]?.[index] ?? 0),
        metrics,
      });
    });
    if (!knowsTruth) return answers;
    const normal = golds.map(({ reward }) => (reward - gold.least) / gold.width);
    // Before the answers: the reward of a run is that of its last experience.
    return [
      ...verdicts.map((verdict, index) =>
        this.#verdictExperience(verdict, index, rewardOf(scores[index], normal)),
      ),
      ...answers,
    ];
  }

  #judge(responses: readonly ChatResponse[], n: number): Promise<readonly ChatResponse[]> {
    const { task, signal } = this;
    return this.model.chat(rulerPrompt(taskPrompt(task) ?? '', responses), {
      n,
      signal,
      ...chatOptions(task.rolloutArgs),
    });
  }

  #verdictExperience(verdict: ChatResponse, index: number, reward: number): Experience {
    const eid = { task: `${this.task.taskId}-ruler`, run: this.runIdBase + index };
    return createExperience({ ...verdict, reward, eid, metrics: { reward_for_judge: reward } });
  }

  #groundTruthRatio(): number {
    const { ground_truth_ratio: ratio = 0.2 } = this.task.workflowArgs;
    if (typeof ratio === 'number' && ratio >= 0 && ratio <= 1) return ratio;
    throw wrongArg('ground_truth_ratio', ratio, 'a number from 0 to 1');
  }
}

function rewardOf(scores: readonly number[] | undefined, normal: readonly number[]): number {
  return scores === undefined
    ? 0
    : 1 - mean(scores.map((score, i) => Math.abs(score - normal[i]!)));
}
