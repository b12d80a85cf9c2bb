/** Reads the prompt of a task that must have a prompt. */
import { taskPrompt, type Task, TaskError } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';

type Row = Pick<Task, 'rawTask' | 'formatArgs' | 'index'>;

/**
 * Returns the prompt of a task.
 * @throws TaskError if the text under `format.prompt_key` is missing or blank
 */
export function requirePrompt(task: Task): string {
  const prompt = taskPrompt(task);
  if (prompt === undefined || prompt.trim() === '') throw missingPrompt(task);
  return prompt;
}

export function missingPrompt({ index, formatArgs: { promptKey }, rawTask }: Row): TaskError {
  const isEmpty = fieldOf(rawTask, promptKey) !== undefined;
  const keys = Object.keys(rawTask).join(', ') || 'none';
  return new TaskError(
    `Row ${index.row} of task set "${index.taskset}" has ${isEmpty ? 'an empty' : 'no'} "${promptKey}"; ` +
      `its keys are ${keys}. ` +
      (isEmpty
        ? 'Give the row a prompt, or remove it.'
        : 'Set format.prompt_key to the key that holds the prompt.'),
    { code: 'PROMPT_MISSING' },
  );
}
