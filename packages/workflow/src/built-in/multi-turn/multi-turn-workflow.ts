/** The base of workflows that talk with the model several times. */
import type { ChatMessage, ChatOptions, ChatResponse, Task } from '@trinity-rft/core';
import { chatOptions } from '../arguments/chat-options.js';
import { Workflow } from '../../definition/workflow-class.js';

/**
 * Keeps one conversation. Every call is recorded with the tokens that were sampled, so nothing is
 * turned into tokens a second time. A subclass that overrides `reset` calls `super.reset(task)`,
 * which begins a new conversation.
 */
export abstract class MultiTurnWorkflow extends Workflow {
  #messages: ChatMessage[] = [];

  /** So far, oldest first. */
  protected get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /** Adds to the conversation without asking: a system prompt, what a tool said. */
  protected tell(...messages: readonly ChatMessage[]): void {
    this.#messages.push(...messages);
  }

  /**
   * Adds `content` as the user's, and the model's answer, which it returns. The task's
   * `rollout_args` hold where `options` say nothing.
   */
  protected async ask(
    content: string,
    options: Omit<ChatOptions, 'n'> = {},
  ): Promise<ChatResponse> {
    this.tell({ role: 'user', content });
    const settings = { ...chatOptions(this.task.rolloutArgs), signal: this.signal, ...options };
    const response = (await this.model.chat(this.#messages, settings))[0]!;
    this.tell({
      role: 'assistant',
      content: response.responseText,
      ...(response.reasoningText !== undefined && { reasoning_content: response.reasoningText }),
      ...(response.toolCalls.length > 0 && { tool_calls: response.toolCalls }),
    });
    return response;
  }

  /** Begins a new conversation, for the next run of a group or the next task. */
  protected forget(): void {
    this.#messages = [];
  }

  override reset(_task: Task): void | Promise<void> {
    this.forget();
  }
}
