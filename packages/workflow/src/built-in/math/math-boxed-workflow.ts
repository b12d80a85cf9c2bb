/** `math_boxed_workflow`: the simple workflow with the answer in `\boxed{}`. */
import type { RewardFn } from '@trinity-rft/core';
import { createRewardFn } from '@trinity-rft/reward';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import { invalidArg } from '../task-args.js';

const plainPrompt = 'Solve the problem step by step and put the final answer inside \\boxed{}.';
const thinkPrompt =
  'First think about the problem inside <think> and </think>. ' +
  'Then solve it and put the final answer inside \\boxed{}.';

/**
 * The default reward function is `math_boxed_reward`, with `workflow_args.with_think` (false) and
 * `format_score_coef` (0.1). The default system prompt asks for the box, and for the thoughts if
 * `with_think` is set.
 */
export class MathBoxedWorkflow extends SimpleWorkflow {
  protected override systemPrompt(): string {
    const { use_base: useBase = false, with_think: withThink = false } = this.task.workflowArgs;
    if (useBase !== false)
      throw invalidArg(
        'use_base',
        useBase,
        'false, because the chat template always renders the prompt',
      );
    return super.systemPrompt() ?? (withThink === true ? thinkPrompt : plainPrompt);
  }

  protected override requireRewardFn(): RewardFn {
    const { with_think: withThink = false, format_score_coef: coefficient = 0.1 } =
      this.task.workflowArgs;
    return (
      this.rewardFn ??
      createRewardFn('math_boxed_reward', { with_think: withThink, format_score_coef: coefficient })
    );
  }
}
