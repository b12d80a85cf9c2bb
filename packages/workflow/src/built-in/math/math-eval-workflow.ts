/**
 * `math_eval_workflow`: `simple_workflow` with the prompt and the grader of Qwen2.5-Math's
 * evaluation.
 */
import type { RewardFn, Task } from '@trinity-rft/core';
import { createRewardFn } from '../../reward/index.js';
import { z } from 'zod';
import { requirePrompt } from '../../definition/require-prompt.js';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';

/** Instruction that Qwen2.5-Math was trained with, from its model card. */
export const boxedRequest =
  'Please reason step by step, and put your final answer within \\boxed{}.';

export const mathEvalArgs = z.strictObject({
  checker: z.enum(['math', 'trinity'], 'expected math or trinity').default('math'),
});

/**
 * Solves math problems for an evaluation. Reads the problem from the column `question`, otherwise
 * from `format.prompt_key`. The default reward function is `math_eval_reward`, with
 * `workflow_args.checker`: `math` (default), or `trinity` to reproduce scores of Trinity-RFT. Uses
 * the sampling settings of `rollout_args`, whereas Trinity-RFT always uses temperature 0.6 and
 * top_p 0.8.
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
    const { checker } = readWorkflowArgs(mathEvalArgs, this.task.workflowArgs);
    return this.rewardFn ?? createRewardFn('math_eval_reward', { checker });
  }
}

/**
 * Checks the row of a task.
 * @throws TaskError if the row contains no math problem
 */
export function checkMathEvalRow(task: Task): void {
  if (typeof task.rawTask['question'] !== 'string') requirePrompt(task);
}
