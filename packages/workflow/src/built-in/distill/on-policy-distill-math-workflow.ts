/**
 * `on_policy_distill_math_workflow`: distillation on math problems, with the prompt and the grader
 * of `math_eval_workflow`.
 */
import type { ChatResponse } from '@trinity-rft/core';
import { createRewardFn } from '../../reward/index.js';
import { boxedRequest } from '../math/math-eval-workflow.js';
import { scoreChoice, type Score } from '../../scoring/score-response.js';
import { OnPolicyDistillWorkflow } from './on-policy-distill-workflow.js';

/**
 * Distills on math problems. The default reward function is `math_eval_reward`: 1 for a correct
 * answer, else 0.
 */
export class OnPolicyDistillMathWorkflow extends OnPolicyDistillWorkflow {
  protected override prompt(): string | undefined {
    const problem = super.prompt();
    return problem === undefined ? undefined : `${problem}\n${boxedRequest}`;
  }

  protected override systemPrompt(): string {
    return super.systemPrompt() ?? 'You are a helpful assistant.';
  }

  protected override score(response: ChatResponse): Promise<Score> {
    return scoreChoice(
      this.rewardFn ?? createRewardFn('math_eval_reward', {}),
      this.task,
      response,
    );
  }
}
