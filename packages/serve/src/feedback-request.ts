/** Reads the body of `POST /feedback`. */
import { ModelError, isUsableReward, usableReward } from '@trinity-rft/core';
import type { Feedback } from './turns/turn-store.js';

/**
 * Limits for a body. Eight megabytes are enough for ten thousand ids. The depth is limited because
 * error messages print values recursively.
 */
export const feedbackBody = {
  maxBytes: 8_000_000,
  maxDepth: 16,
  expected: 'a JSON object in UTF-8',
};

const maxMsgIds = 10_000;
const maxIdLength = 512;

const fields = ['reward', 'msg_ids', 'task_id', 'run_id'];

/**
 * Validates the body of a feedback request.
 * @throws ModelError 400 whose message names the field, its value and the expected value
 */
export function readFeedback(value: unknown): Feedback {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('body', value, 'an object with reward and msg_ids');
  const body = value as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(body).find((key) => !fields.includes(key));
  if (unknown !== undefined)
    throw invalidField(
      'body',
      `has the unknown field ${JSON.stringify(unknown.slice(0, 100))}`,
      `only ${fields.join(', ')}`,
    );
  const { reward, msg_ids: msgIds, task_id: taskId = null, run_id: runId = null } = body;
  if (typeof reward !== 'number' || !isUsableReward(reward))
    throw invalid('reward', reward, usableReward);
  if (!isIds(msgIds))
    throw invalid('msg_ids', msgIds, `a list of 1 to ${maxMsgIds} ids of answers`);
  if (taskId !== null && !isId(taskId))
    throw invalid('task_id', taskId, `a string of 1 to ${maxIdLength} characters, or no task_id`);
  if (runId !== null && (!Number.isSafeInteger(runId) || (runId as number) < 0))
    throw invalid('run_id', runId, 'an integer of at least 0, or no run_id');
  return { reward, msgIds, runId: (runId as number) ?? undefined, taskId: taskId ?? undefined };
}

/**
 * Returns true for a valid id. Strings that contain lone surrogates or NUL are invalid, because
 * storing would change them.
 */
const isId = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= maxIdLength &&
  value.isWellFormed() &&
  !value.includes('\0');

const isIds = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.length <= maxMsgIds && value.every(isId);

function invalid(field: string, value: unknown, expected: string): ModelError {
  const shown = value === undefined ? 'missing' : `${JSON.stringify(value)}`.slice(0, 200);
  return invalidField(field, `is ${shown}`, expected);
}

const invalidField = (param: string, what: string, expected: string): ModelError =>
  new ModelError(`${param} ${what}. Expected ${expected}. Nothing was applied.`, {
    status: 400,
    code: 'invalid_request',
    details: { param },
  });
