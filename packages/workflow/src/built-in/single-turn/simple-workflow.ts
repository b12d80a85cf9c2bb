/** `simple_workflow`: one chat, one reward function. */
import {
  createExperience,
  taskPrompt,
  TaskError,
  WorkflowError,
  type ChatMessage,
  type ChatResponse,
  type Experience,
  type Metrics,
  type RewardFn,
  type Task,
} from '@trinity-rft/core';
import { chatOptions } from '../arguments/chat-options.js';
import { scoreChoice } from '../../scoring/score-response.js';
import { Workflow } from '../../definition/workflow-class.js';

/**
 * Asks the prompt of the task once per run (all runs of a group in one request) and scores each
 * answer.
 */
export class SimpleWorkflow extends Workflow {
  static override readonly canReset: boolean = true;
  static override readonly canRepeat: boolean = true;

  async run(): Promise<readonly Experience[]> {
    const responses = await this.respond();
    const rewardFn = this.requireRewardFn();
    return Promise.all(
      responses.map(async (response, index) => {
        const { reward, parts } = await scoreChoice(rewardFn, this.task, response);
        return this.experienceOf(response, index, { reward, metrics: parts });
      }),
    );
  }

  /** One answer per run of the group. */
  protected respond(): Promise<readonly ChatResponse[]> {
    return this.model.chat(this.messages(), {
      n: this.repeatTimes,
      signal: this.signal,
      ...chatOptions(this.task.rolloutArgs),
    });
  }

  /** The answer of the run with this place in the group, as an experience. */
  protected experienceOf(
    response: ChatResponse,
    index: number,
    score: { readonly reward: number; readonly metrics: Metrics },
  ): Experience {
    return createExperience({
      ...response,
      ...score,
      promptText: taskPrompt(this.task) ?? '',
      eid: { run: this.runIdBase + index },
    });
  }

  protected messages(): readonly ChatMessage[] {
    const prompt = this.prompt();
    if (prompt === undefined) throw missingPrompt(this.task);
    const system = this.systemPrompt();
    const { replyPrefix } = this.task.formatArgs;
    return [
      ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
      { role: 'user', content: prompt },
      ...(replyPrefix === undefined ? [] : [{ role: 'assistant', content: replyPrefix } as const]),
    ];
  }

  protected prompt(): string | undefined {
    return taskPrompt(this.task);
  }

  /** The row's own system prompt, else the task set's. */
  protected systemPrompt(): string | undefined {
    const { systemPromptKey, systemPrompt } = this.task.formatArgs;
    const own = systemPromptKey === undefined ? undefined : this.task.rawTask[systemPromptKey];
    return typeof own === 'string' ? own : systemPrompt;
  }

  protected requireRewardFn(): RewardFn {
    if (this.rewardFn) return this.rewardFn;
    throw new WorkflowError(
      `Workflow "${this.task.workflow}" needs a reward function. Set default_reward_fn_type on the task set.`,
      {
        code: 'REWARD_MISSING',
      },
    );
  }
}

export function missingPrompt(task: Task): TaskError {
  const { promptKey } = task.formatArgs;
  return new TaskError(
    `Row ${task.index.row} of task set "${task.index.taskset}" has no "${promptKey}"; its keys are ${Object.keys(task.rawTask).join(', ') || 'none'}. Set format.prompt_key to the key that holds the prompt.`,
    { code: 'PROMPT_MISSING' },
  );
}
