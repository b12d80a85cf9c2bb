/**
 * `math_eval_workflow`: the simple workflow with the prompt and the grader of Qwen2.5-Math's
 * evaluation.
 */
import type { RewardFn } from '@trinity-rft/core';
import { createRewardFn } from '@trinity-rft/reward';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';

/** What Qwen2.5-Math was trained with; its model card says so. */
export const boxedRequest =
  'Please reason step by step, and put your final answer within \\boxed{}.';

/**
 * Reads the problem from the key `question` of the row, or else from `format.prompt_key`. Uses
 * `math_eval_reward` when the task names no reward function, with `workflow_args.checker`: `math`
 * (default), or `trinity` for the figures of Trinity-RFT. Samples as `rollout_args` says; the
 * original always samples with temperature 0.6 and top_p 0.8.
 */
export class MathEvalWorkflow extends SimpleWorkflow {
  protected override prompt(): string | undefined {
    const { question } = this.task.rawTask;
    const problem = typeof question === 'string' ? question : super.prompt();
    return problem === undefined ? undefined : `${problem}\n${boxedRequest}`;
  }

  protected override systemPrompt(): string {
    return super.systemPrompt() ?? 'You are a helpful assistant.';
  }

  protected override requireRewardFn(): RewardFn {
    const { checker = 'math' } = this.task.workflowArgs;
    return this.rewardFn ?? createRewardFn('math_eval_reward', { checker });
  }
}
