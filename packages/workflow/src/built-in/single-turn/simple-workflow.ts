/** `simple_workflow`: one model call, scored by one reward function. */
import {
  createExperience,
  taskPrompt,
  taskSystemPrompt,
  WorkflowError,
  type ChatMessage,
  type ChatResponse,
  type Experience,
  type Metrics,
  type RewardFn,
} from '@trinity-rft/core';
import { chatOptions } from '../task-args.js';
import { missingPrompt } from '../../definition/require-prompt.js';
import { scoreChoice } from '../../scoring/score-response.js';
import { noteFailedRollouts } from '../../definition/partial-group-error.js';
import { Workflow } from '../../definition/workflow-class.js';

/**
 * Samples one response to the task's prompt for each rollout, and scores each response. A single
 * request samples the responses for all rollouts of a group.
 */
export class SimpleWorkflow extends Workflow {
  static override readonly canReset: boolean = true;
  static override readonly canRepeat: boolean = true;

  async run(): Promise<readonly Experience[]> {
    const responses = await this.respond();
    const rewardFn = this.requireRewardFn();
    return this.eachOf(responses, async (response, index) => {
      const { reward, parts } = await scoreChoice(rewardFn, this.task, response);
      return this.experienceOf(response, index, { reward, metrics: parts });
    });
  }

  /**
   * Calls `create` for each response of the group, and returns the experiences. If `create` rejects
   * for some responses, the result lacks them, and the explorer repeats their rollouts.
   * @throws the error of the first response, if `create` rejects for all responses
   */
  protected async eachOf(
    responses: readonly ChatResponse[],
    create: (response: ChatResponse, index: number) => Promise<Experience>,
  ): Promise<readonly Experience[]> {
    const results = await Promise.allSettled(
      responses.map(async (response, index) => create(response, index)),
    );
    const experiences = results.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    const failed = new Map(
      results.flatMap((one, index) =>
        one.status === 'rejected' ? [[this.runIdBase + index, one.reason as unknown]] : [],
      ),
    );
    if (failed.size > 0 && experiences.length === 0) throw failed.get(this.runIdBase);
    if (failed.size > 0) noteFailedRollouts(this, failed);
    return experiences;
  }

  /** Samples one response for each rollout of the group. */
  protected respond(): Promise<readonly ChatResponse[]> {
    return this.model.chat(this.messages(), {
      n: this.repeatTimes,
      signal: this.signal,
      ...chatOptions(this.task.rolloutArgs),
    });
  }

  /** Creates the experience for rollout `index` of the group from its response and its score. */
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
    if (prompt === undefined || prompt.trim() === '') throw missingPrompt(this.task);
    return this.conversation(this.systemPrompt(), [{ role: 'user', content: prompt }]);
  }

  /**
   * Returns the messages with a system prompt before them, and the beginning of the response
   * (`format.reply_prefix`) after them, if these are set.
   */
  protected conversation(
    system: string | undefined,
    messages: readonly ChatMessage[],
  ): readonly ChatMessage[] {
    const { replyPrefix } = this.task.formatArgs;
    return [
      ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
      ...messages,
      ...(replyPrefix === undefined ? [] : [{ role: 'assistant', content: replyPrefix } as const]),
    ];
  }

  protected prompt(): string | undefined {
    return taskPrompt(this.task);
  }

  /** Returns the system prompt in the row; if there is none, that of the task set. */
  protected systemPrompt(): string | undefined {
    return taskSystemPrompt(this.task);
  }

  protected requireRewardFn(): RewardFn {
    if (this.rewardFn) return this.rewardFn;
    throw new WorkflowError(
      `Workflow "${this.task.workflow}" needs a reward function. Set default_reward_fn_type.`,
      { code: 'REWARD_MISSING' },
    );
  }
}
