/** `math_boxed_workflow`: `simple_workflow` for math problems whose answer is in `\boxed{}`. */
import { ModelError, type ChatMessage, type ChatResponse, type RewardFn } from '@trinity-rft/core';
import { createRewardFn } from '../../reward/index.js';
import { z } from 'zod';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import { trueOrFalse } from '../task-args.js';

const plainPrompt = 'Solve the problem step by step and put the final answer inside \\boxed{}.';
const thinkPrompt =
  'First think about the problem inside <think> and </think>. ' +
  'Then solve it and put the final answer inside \\boxed{}.';

/**
 * Schema of `workflow_args`. `use_base`: true to send the prompt as plain text without the chat
 * template, for a base model. `with_think`: true to request a thought in `<think>` tags, and reward
 * it. `format_score_coef`: argument of the default reward function.
 */
export const boxedArgs = z.strictObject({
  use_base: trueOrFalse().default(false),
  with_think: trueOrFalse().default(false),
  format_score_coef: z.number('expected a number').default(0.1),
});

/**
 * Solves math problems with boxed answers. The default reward function is `math_boxed_reward`. The
 * default system prompt asks for a boxed answer, and for thoughts if `with_think` is set.
 */
export class MathBoxedWorkflow extends SimpleWorkflow {
  protected override systemPrompt(): string {
    return super.systemPrompt() ?? (this.#args().with_think ? thinkPrompt : plainPrompt);
  }

  protected override requireRewardFn(): RewardFn {
    const { with_think: withThink, format_score_coef: coefficient } = this.#args();
    return (
      this.rewardFn ??
      createRewardFn('math_boxed_reward', { with_think: withThink, format_score_coef: coefficient })
    );
  }

  protected override respond(): Promise<readonly ChatResponse[]> {
    return this.#args().use_base ? this.#continueText() : super.respond();
  }

  /** Sends the conversation as plain text, and samples continuations of this text. */
  async #continueText(): Promise<readonly ChatResponse[]> {
    const { choices } = await this.model.openaiClient().completions.create(
      {
        model: this.model.modelPath,
        prompt: plainText(this.messages()),
        n: this.repeatTimes,
      },
      { signal: this.signal },
    );
    const recorded = this.model.extractExperiencesFromHistory();
    return choices.map(({ text, finish_reason: reason }, index) => {
      const experience = recorded[index];
      if (!experience)
        throw new ModelError('A completion was not recorded, so it cannot be trained on.', {
          status: 500,
          retryable: true,
        });
      const { tokens, promptLength, logprobs, policyVersion, temperature } = experience;
      return {
        responseText: text,
        toolCalls: [],
        tokens,
        promptLength,
        logprobs,
        policyVersion,
        temperature,
        finishReason: reason === 'length' ? 'length' : 'stop',
      };
    });
  }

  #args(): z.output<typeof boxedArgs> {
    return readWorkflowArgs(boxedArgs, this.task.workflowArgs);
  }
}

const headings: Readonly<Record<ChatMessage['role'], string>> = {
  system: 'System:',
  developer: 'System:',
  user: 'User:\n',
  assistant: 'Assistant:\n',
  tool: 'Tool:\n',
};

/**
 * Formats messages as a plain-text prompt that the model continues in the role of the assistant.
 * The layout is that of Trinity-RFT's `math_boxed_workflow` with `use_base`.
 */
function plainText(messages: readonly ChatMessage[]): string {
  const turns = messages.map(
    ({ role, content }) => `${headings[role]}${typeof content === 'string' ? content : ''}`,
  );
  const isBegun = messages.at(-1)?.role === 'assistant';
  return (isBegun ? turns : [...turns, headings.assistant]).join('\n');
}
