/** `on_policy_distill_math_workflow`: distillation on math problems, with the prompt and the checker of evaluations. */
import type { ChatMessage, ChatResponse, Metrics } from '@trinity-rft/core';
import { taskPrompt } from '@trinity-rft/core';
import { createRewardFn } from '@trinity-rft/reward';
import { scoreResponse } from '../rewards.js';
import { missingPrompt } from '../simple-workflow.js';
import { OnPolicyDistillWorkflow } from './on-policy-distill-workflow.js';

/** The reward is `math_eval_reward` (1 for a right answer, else 0) where the task names no reward function. */
export class OnPolicyDistillMathWorkflow extends OnPolicyDistillWorkflow {
  /** That of Qwen2.5-Math's evaluation. */
  protected override messages(): readonly ChatMessage[] {
    const prompt = taskPrompt(this.task);
    if (prompt === undefined) throw missingPrompt(this.task);
    return [
      { role: 'system', content: this.systemPrompt() ?? 'You are a helpful assistant.' },
      { role: 'user', content: `${prompt}\nPlease reason step by step, and put your final answer within \\boxed{}.` },
    ];
  }

  protected override async score({ responseText }: ChatResponse): Promise<{ readonly reward: number; readonly metrics: Metrics }> {
    const { reward, parts } = await scoreResponse(this.rewardFn ?? createRewardFn('math_eval_reward', {}), this.task, responseText);
    return { reward, metrics: parts };
  }
}
