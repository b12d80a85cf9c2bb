/** `simple_workflow`: one chat, one reward function. */
import {
  createExperience,
  taskPrompt,
  TaskError,
  WorkflowError,
  type ChatMessage,
  type Experience,
  type RewardFn,
  type Task,
} from '@trinity-rft/core';
import { scoreResponse } from './rewards.js';
import { Workflow } from './workflow.js';

/** Asks the prompt of the task once per run (all runs of a group in one request) and scores each answer. */
export class SimpleWorkflow extends Workflow {
  static override readonly canReset: boolean = true;
  static override readonly canRepeat: boolean = true;

  async run(): Promise<readonly Experience[]> {
    const { rolloutArgs } = this.task;
    const responses = await this.model.chat(this.messages(), {
      n: this.repeatTimes,
      signal: this.signal,
      ...(rolloutArgs.temperature !== undefined && { temperature: rolloutArgs.temperature }),
      ...(rolloutArgs.topP !== undefined && { topP: rolloutArgs.topP }),
      ...(rolloutArgs.topK !== undefined && { topK: rolloutArgs.topK }),
      ...(rolloutArgs.maxTokens !== undefined && { maxTokens: rolloutArgs.maxTokens }),
    });
    const rewardFn = this.requireRewardFn();
    return Promise.all(
      responses.map(async (response, index) => {
        const { reward, parts } = await scoreResponse(rewardFn, this.task, response.responseText);
        return createExperience({
          ...response,
          reward,
          metrics: parts,
          promptText: taskPrompt(this.task) ?? '',
          eid: { run: this.runIdBase + index },
          ...(response.finishReason === 'length' && { truncateStatus: 'response_truncated' as const }),
        });
      }),
    );
  }

  protected messages(): readonly ChatMessage[] {
    const prompt = taskPrompt(this.task);
    if (prompt === undefined) throw missingPrompt(this.task);
    const system = this.systemPrompt();
    const { replyPrefix } = this.task.formatArgs;
    return [
      ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
      { role: 'user', content: prompt },
      ...(replyPrefix === undefined ? [] : [{ role: 'assistant', content: replyPrefix } as const]),
    ];
  }

  /** The row's own system prompt, else the task set's. */
  protected systemPrompt(): string | undefined {
    const { systemPromptKey, systemPrompt } = this.task.formatArgs;
    const own = systemPromptKey === undefined ? undefined : this.task.rawTask[systemPromptKey];
    return typeof own === 'string' ? own : systemPrompt;
  }

  protected requireRewardFn(): RewardFn {
    if (this.rewardFn) return this.rewardFn;
    throw new WorkflowError(`Workflow "${this.task.workflow}" needs a reward function. Set default_reward_fn_type on the task set.`, {
      code: 'REWARD_MISSING',
    });
  }
}

export function missingPrompt(task: Task): TaskError {
  const { promptKey } = task.formatArgs;
  return new TaskError(
    `Row ${task.index.row} of task set "${task.index.taskset}" has no "${promptKey}"; its keys are ${Object.keys(task.rawTask).join(', ') || 'none'}. Set format.prompt_key to the key that holds the prompt.`,
    { code: 'PROMPT_MISSING' },
  );
}
