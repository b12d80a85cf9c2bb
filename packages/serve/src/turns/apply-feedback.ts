import { ModelError } from '@trinity-rft/core';
import type { prepareStatements } from './schema.js';
import type { Feedback, FeedbackResult } from './turn-store.js';

type Statements = ReturnType<typeof prepareStatements>;
type Row = NonNullable<ReturnType<Statements['ofMessage']['get']>>;

/**
 * Rewards all calls that the feedback names, or none of them. Must be called in a transaction.
 * @throws ModelError 404 naming unknown ids, 409 naming ids with different feedback
 */
export function applyFeedback(sql: Statements, feedback: Feedback): FeedbackResult {
  const named = [...new Set(feedback.msgIds)].map((name) => ({ name, rows: find(sql, name) }));
  const unknown = named.filter(({ rows }) => rows.length === 0).map(({ name }) => name);
  if (unknown.length > 0) throw unknownIds(unknown);
  const conflicts = named.filter(({ rows }) =>
    rows.some((row) => row['reward'] !== null && !agrees(row, feedback)),
  );
  if (conflicts.length > 0) throw conflicting(conflicts.map(({ name }) => name));
  const open = named.filter(({ rows }) => rows.some((row) => row['reward'] === null));
  for (const row of open.flatMap(({ rows }) => rows)) {
    // Without a task from the client, each call is a separate task.
    sql.reward.run(
      feedback.reward,
      feedback.taskId ?? String(row['msg']),
      feedback.runId ?? null,
      Number(row['id']),
    );
  }
  const applied = open.map(({ name }) => name);
  return {
    applied,
    already: named.map(({ name }) => name).filter((name) => !applied.includes(name)),
  };
}

/**
 * Returns the choices that `name` refers to (`ID` or `ID:CHOICE`), or an empty list if the call or
 * choice is unknown.
 */
function find(sql: Statements, name: string): readonly Row[] {
  const whole = sql.ofMessage.all(name);
  if (whole.length > 0) return whole;
  const [, msg, choice] = /^(.*):(\d+)$/s.exec(name) ?? [];
  return msg === undefined
    ? []
    : sql.ofMessage.all(msg).filter((row) => row['choice'] === Number(choice));
}

// Earlier versions stored the number 0 for feedback without one.
const agrees = (row: Row, { reward, taskId, runId }: Feedback): boolean =>
  row['reward'] === reward &&
  (row['run'] === (runId ?? null) || (row['run'] === 0 && runId === undefined)) &&
  row['task'] === (taskId ?? row['msg']);

/** Maximum number of ids in an error message, because a request may contain thousands. */
const maxListed = 20;

const list = (names: readonly string[]): string =>
  names
    .slice(0, maxListed)
    .map((name) => JSON.stringify(name.slice(0, 200)))
    .join(', ') + (names.length > maxListed ? ` and ${names.length - maxListed} more` : '');

function unknownIds(names: readonly string[]): ModelError {
  return new ModelError(
    `msg_ids: unknown ids ${list(names)}. Expected ids of complete answers of this server. Answers whose client disconnected before they were finished are not recorded, and old answers without a reward are deleted. Nothing was applied.`,
    { status: 404, code: 'unknown_msg_ids', details: { param: 'msg_ids', msgIds: names } },
  );
}

function conflicting(names: readonly string[]): ModelError {
  return new ModelError(
    `msg_ids: ${list(names)} already have feedback with a different reward, task_id or run_id. A call can be rewarded once. Nothing was applied.`,
    { status: 409, code: 'already_rewarded', details: { param: 'msg_ids', msgIds: names } },
  );
}
