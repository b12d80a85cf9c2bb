/** Reading the arguments that a task carries, which come unchecked from YAML. */
import { ConfigError, taskPrompt, type ChatOptions, type Task } from '@trinity-rft/core';
import { TaskError, type RolloutArgs } from '@trinity-rft/core/internal';

/** `rollout_args` as options of `chat`; `n` and `logprobs` are up to the workflow. */
export const chatOptions = ({ temperature, topP, topK, maxTokens }: RolloutArgs): ChatOptions => ({
  temperature,
  topP,
  topK,
  maxTokens,
});

/** @throws TaskError when the row has no prompt */
export function requirePrompt(task: Task): string {
  const prompt = taskPrompt(task);
  if (prompt === undefined) throw missingPrompt(task);
  return prompt;
}

export function missingPrompt({ index, formatArgs, rawTask }: Task): TaskError {
  const keys = Object.keys(rawTask).join(', ') || 'none';
  return new TaskError(
    `Row ${index.row} of task set "${index.taskset}" has no "${formatArgs.promptKey}"; ` +
      `its keys are ${keys}. ` +
      'Set format.prompt_key to the key that holds the prompt.',
    { code: 'PROMPT_MISSING' },
  );
}

/** An integer of at least `min`. @throws ConfigError */
export function integerArg(
  { workflowArgs }: Task,
  name: string,
  { min, fallback }: { readonly min: number; readonly fallback: number },
): number {
  const value = workflowArgs[name] ?? fallback;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min) return value;
  throw invalidArg(name, value, `an integer of at least ${min}`);
}

/** A number above 0. @throws ConfigError */
export function positiveArg({ workflowArgs }: Task, name: string, fallback: number): number {
  const value = workflowArgs[name] ?? fallback;
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw invalidArg(name, value, 'a number above 0');
}

/** @throws ConfigError when it is not text, or not set and without a fallback */
export function textArg({ workflowArgs }: Task, name: string, fallback?: string): string {
  const value = workflowArgs[name] ?? fallback;
  if (typeof value === 'string' && value !== '') return value;
  throw invalidArg(name, value, 'non-empty text');
}

export function invalidArg(name: string, value: unknown, expected: string): ConfigError {
  const actual = value === undefined ? 'not set' : JSON.stringify(value);
  return new ConfigError(`workflow_args.${name} is ${actual}; expected ${expected}.`, {
    code: 'WORKFLOW_ARGS',
  });
}
