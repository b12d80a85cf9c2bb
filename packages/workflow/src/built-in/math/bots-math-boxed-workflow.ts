/** `bots_math_boxed_workflow`: `math_boxed_workflow` for prompts that are lists of messages. */
import { type ChatMessage, TaskError, taskSystemPrompt } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';
import { z } from 'zod';
import { MathBoxedWorkflow } from './math-boxed-workflow.js';

const messagesSchema = z.array(
  z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }),
);

/**
 * Sends a prompt that is a list of messages without changes, and a string prompt like
 * `math_boxed_workflow`. A system prompt from the task set's format replaces the one in the list.
 */
export class BotsMathBoxedWorkflow extends MathBoxedWorkflow {
  protected override messages(): readonly ChatMessage[] {
    const { rawTask, formatArgs, index } = this.task;
    const given = fieldOf(rawTask, formatArgs.promptKey);
    if (!Array.isArray(given)) return super.messages();
    const read = messagesSchema.safeParse(given);
    if (read.success) {
      const system = taskSystemPrompt(this.task);
      const isKept = (message: ChatMessage) => system === undefined || message.role !== 'system';
      return this.conversation(system, read.data.filter(isKept));
    }
    throw new TaskError(
      `Row ${index.row} of task set "${index.taskset}" has under "${formatArgs.promptKey}" a list of what are no messages: ${z.prettifyError(read.error)}`,
      { code: 'TASK_ROW' },
    );
  }
}
