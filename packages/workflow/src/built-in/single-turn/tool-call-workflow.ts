/**
 * `tool_call_workflow`: the model continues a conversation, and the tool calls in its response are
 * scored.
 */
import {
  taskTruth,
  type ChatMessage,
  type RewardFn,
  type Task,
  TaskError,
} from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import { createRewardFn } from '../../reward/index.js';
import { SimpleWorkflow } from './simple-workflow.js';

const instruction = `You may call the tools below. Reason first, inside <think> and </think>. Then write your calls inside <tool_call> and
</tool_call>, in the same reply, as a JSON list of objects with "name" and "arguments", where arguments have the types that the tool
declares:
<think> reasoning </think> <tool_call>[{"name": "tool", "arguments": {"key": "value"}}]</tool_call>`;

/**
 * Reads rows of Tool-N1 (arXiv:2505.00024): `tools` (function declarations), `conversations`
 * ([{from, value}]), `raw_system`, `answer` (the expected calls). Lists may be JSON strings. The
 * default reward function is `tool_call_reward`. The prompt describes the tools and the format of
 * calls that this reward expects, even if the model's chat template has another format for calls.
 */
export class ToolCallWorkflow extends SimpleWorkflow {
  protected override messages(): readonly ChatMessage[] {
    const system: unknown = this.task.rawTask['raw_system'] ?? '';
    const tools = listIn(this.task, 'tools').map((tool) =>
      JSON.stringify({ type: 'function', function: tool }),
    );
    const content =
      `${String(system)}\n${instruction}\n\n<tools>\n${tools.join('\n')}\n</tools>`.trimStart();
    return [{ role: 'system', content }, ...turnsOf(this.task)];
  }

  protected override requireRewardFn(): RewardFn {
    if (this.rewardFn) return this.rewardFn;
    const score = createRewardFn('tool_call_reward', {});
    return (input) => score({ ...input, truth: input.truth ?? textOf(input.rawTask['answer']) });
  }
}

/**
 * Checks the row of a task.
 * @throws TaskError if the row is not valid, or answers to it could not be scored
 */
export function checkToolCallRow(task: Task): void {
  listIn(task, 'tools');
  turnsOf(task);
  if (task.rewardFn === undefined && (taskTruth(task) ?? task.rawTask['answer']) === undefined)
    throw rowError(task, 'no "answer"', 'the expected calls');
}

const turnsOf = (task: Task): readonly ChatMessage[] =>
  listIn(task, 'conversations').map((turn) => messageOf(task, turn));

function messageOf(task: Task, turn: unknown): ChatMessage {
  const { from, value } = (typeof turn === 'object' && turn !== null ? turn : {}) as {
    readonly from?: unknown;
    readonly value?: unknown;
  };
  const role = roles.get(String(from));
  if (role === undefined) {
    throw rowError(
      task,
      `a turn of "conversations" from ${JSON.stringify(from)}`,
      `one of ${[...roles.keys()].join(', ')}`,
    );
  }
  return { role, content: textOf(value) ?? '' };
}

const roles: ReadonlyMap<string, ChatMessage['role']> = new Map([
  ['human', 'user'],
  ['user', 'user'],
  ['gpt', 'assistant'],
  ['assistant', 'assistant'],
  ['function_call', 'assistant'],
  ['observation', 'tool'],
  ['tool', 'tool'],
]);

const textOf = (value: unknown): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value);

function listIn(task: Task, key: string): readonly unknown[] {
  const value = task.rawTask[key];
  const list = typeof value === 'string' ? tryJson(value) : value;
  if (Array.isArray(list)) return list;
  throw rowError(
    task,
    value === undefined ? `"${key}" missing` : `"${key}" that is not a list`,
    'a list, or its JSON string',
  );
}

function rowError({ index, workflow, rawTask }: Task, what: string, expected: string): TaskError {
  return new TaskError(
    `Row ${index.row} of task set "${index.taskset}" has ${what}; expected ${expected}. Its columns are ${Object.keys(rawTask).join(', ') || 'none'}. ` +
      `Workflow "${workflow}" reads rows of Tool-N1: tools, conversations, raw_system, answer.`,
    { code: 'TASK_ROW_INVALID' },
  );
}
