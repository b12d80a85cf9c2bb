/**
 * `math_workflow`: `simple_workflow` with a default prompt for reasoning and a default reward for
 * math.
 */
import type { RewardFn } from '@trinity-rft/core';
import { createRewardFn } from '../../reward/index.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';

const systemPrompt = `You solve math problems. First reason about the problem step by step, then give the final answer.
Write the reasoning inside <think> and </think> and the final answer inside <answer> and </answer>, like this:
<think> reasoning </think>
<answer> final answer </answer>`;

/**
 * Solves math problems. The default reward function is `math_reward`. If no other reward function
 * is configured, the default system prompt asks for the format that `math_reward` rewards.
 */
export class MathWorkflow extends SimpleWorkflow {
  #reward: RewardFn | undefined;

  protected override systemPrompt(): string | undefined {
    return super.systemPrompt() ?? (this.rewardFn ? undefined : systemPrompt);
  }

  protected override requireRewardFn(): RewardFn {
    return this.rewardFn ?? (this.#reward ??= createRewardFn('math_reward', {}));
  }
}
