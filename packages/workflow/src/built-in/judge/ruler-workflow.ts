/** RULER: a judge model compares all answers of a group, and gives each answer a score. */
import type { ChatResponse, Experience, Metrics } from '@trinity-rft/core';
import { createRewardFn } from '../../reward/index.js';
import { requirePrompt } from '../../definition/require-prompt.js';
import { scoreChoice } from '../../scoring/score-response.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import { parseScores } from './parse-judge-reply.js';
import { rulerPrompt } from './ruler-prompt.js';
import { ask, judgeOf } from './judge-settings.js';

/**
 * `ruler_workflow`: the reward is the judge's score in [0, 1], relative to the other answers of the
 * group. If the judge gives no valid list of scores, the group fails.
 */
export class RulerWorkflow extends SimpleWorkflow {
  override async run(): Promise<readonly Experience[]> {
    const judge = judgeOf(this.context);
    const responses = await this.respond();
    const [scores, metrics] = await Promise.all([
      ask(this.context, judge, {
        messages: rulerPrompt(requirePrompt(this.task), responses),
        parse: (text) => parseScores(text, responses.length),
        expected: `a JSON list of ${responses.length} numbers from 0 to 1`,
      }),
      Promise.all(responses.map(async (response) => this.ownMetrics(response))),
    ]);
    return responses.map((response, index) =>
      this.experienceOf(response, index, {
        reward: scores[index]!,
        metrics: { ...metrics[index], judge_success: 1 },
      }),
    );
  }

  /** Returns additional metrics of an answer, which do not affect the reward. */
  protected ownMetrics(_response: ChatResponse): Metrics | Promise<Metrics> {
    return {};
  }
}

/**
 * `math_ruler_workflow`: like `ruler_workflow`, with the additional metric `gold_reward`: the score
 * by the reward function, for comparison.
 */
export class MathRulerWorkflow extends RulerWorkflow {
  protected override async ownMetrics(response: ChatResponse): Promise<Metrics> {
    const rewardFn = this.rewardFn ?? createRewardFn('math_reward', {});
    const { reward, parts } = await scoreChoice(rewardFn, this.task, response);
    return { ...parts, gold_reward: reward };
  }

  protected override systemPrompt(): string {
    return (
      super.systemPrompt() ??
      'You solve math problems. Reason inside <think> and </think>, ' +
        'then give only the final answer inside <answer> and </answer>.'
    );
  }
}
