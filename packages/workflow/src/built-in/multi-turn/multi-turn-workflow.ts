/** Base class of workflows that call the model several times in one conversation. */
import {
  type ChatMessage,
  type ChatOptions,
  type ChatResponse,
  type Task,
  InvariantError,
} from '@trinity-rft/core';
import { chatOptions } from '../task-args.js';
import { Workflow } from '../../definition/workflow-class.js';

/**
 * Base class of workflows that keep the messages of one conversation. `reset` starts a new
 * conversation; a subclass that overrides it must call `super.reset(task)`.
 */
export abstract class MultiTurnWorkflow extends Workflow {
  #messages: ChatMessage[] = [];

  /** The conversation so far, oldest message first. */
  protected get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /**
   * Adds messages to the conversation without calling the model, such as a system prompt or a tool
   * result.
   */
  protected tell(...messages: readonly ChatMessage[]): void {
    this.#messages.push(...messages);
  }

  /**
   * Adds `content` as a user message, calls the model, adds its response to the conversation, and
   * returns it. `options` take precedence over the task's `rollout_args`.
   */
  protected async ask(
    content: string,
    options: Omit<ChatOptions, 'n'> = {},
  ): Promise<ChatResponse> {
    this.tell({ role: 'user', content });
    const settings: ChatOptions = {
      ...chatOptions(this.task.rolloutArgs),
      signal: this.signal,
      ...options,
    };
    const [response] = await this.model.chat(this.#messages, settings);
    if (!response) throw new InvariantError('The model returned no choice.');
    this.tell({
      role: 'assistant',
      content: response.responseText,
      ...(response.reasoningText !== undefined && { reasoning_content: response.reasoningText }),
      ...(response.toolCalls.length > 0 && { tool_calls: response.toolCalls }),
    });
    return response;
  }

  /**
   * Clears the conversation. Call this method before the next rollout of a group or the next task.
   */
  protected forget(): void {
    this.#messages = [];
  }

  override reset(_task: Task): void | Promise<void> {
    this.forget();
  }
}
