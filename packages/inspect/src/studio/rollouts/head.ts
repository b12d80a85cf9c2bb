/** Fields of a recorded model call that lists and details share. */
import type { ExperienceHead } from '@trinity-rft/buffer';
import { type Experience, uid } from '@trinity-rft/core';
import type { RolloutDetail } from '../interface/types.js';
import type { ToolCall, ToolCallReader } from './tool-calls.js';

export type HeadFields = Pick<
  RolloutDetail,
  'id' | 'uid' | 'batch' | 'task' | 'run' | 'reward' | 'policyVersion' | 'taskset' | 'row' | 'truth'
>;

export function headOf(
  id: number,
  {
    eid,
    reward,
    policyVersion,
    info,
  }: Pick<Experience, 'eid' | 'reward' | 'policyVersion' | 'info'>,
): HeadFields {
  const { taskset, row } = info;
  return {
    id,
    uid: uid(eid),
    batch: String(eid.batch),
    task: String(eid.task),
    run: eid.run,
    reward,
    policyVersion,
    taskset: typeof taskset === 'string' ? taskset : undefined,
    row: typeof row === 'number' && Number.isInteger(row) ? row : undefined,
    truth: textOf(info['truth']),
  };
}

/** Row of the store: one model call, or several merged calls. */
export interface Call extends HeadFields {
  readonly step: number;
  /** Number of model calls in the row. */
  readonly turns: number;
  readonly advantage: number | undefined;
  readonly promptTokens: number;
  readonly responseTokens: number;
  readonly trainedTokens: number;
  readonly tools: readonly ToolCall[];
  /** One entry per model call; undefined if the times were not recorded. */
  readonly times: readonly CallTime[] | undefined;
  readonly problem: string | undefined;
}

export function callOf(head: ExperienceHead, toolCalls: ToolCallReader): Call {
  const { eid, promptLength, tokens, actionMask, info } = head;
  const turns = head.spans?.length ?? 1;
  return {
    ...headOf(head.id, head),
    step: eid.step,
    turns,
    advantage: head.advantage,
    promptTokens: promptLength,
    responseTokens: tokens.length - promptLength,
    trainedTokens: actionMask.reduce((sum, bit) => sum + bit, 0),
    tools: toolCalls(head),
    times: timesOf(info, turns),
    problem: problemOf(head),
  };
}

/** Start and end of a model call, in milliseconds since the epoch. */
interface CallTime {
  readonly start: number;
  readonly end: number;
}

/** Reads the times of model calls. Checks them, because workflows write `info` as well. */
function timesOf({ times }: Experience['info'], count: number): Call['times'] {
  if (!Array.isArray(times) || times.length !== count) return undefined;
  const isTime = (time: Partial<CallTime> | null): boolean =>
    typeof time?.start === 'number' && typeof time.end === 'number';
  return times.every(isTime) ? (times as readonly CallTime[]) : undefined;
}

/** Returns the problem that is recorded with an experience; undefined if there is none. */
export function problemOf({
  info,
  truncateStatus,
}: Pick<ExperienceHead, 'info' | 'truncateStatus'>): string | undefined {
  const fault = info['fault'];
  if (fault !== undefined && fault !== null)
    return `fault: ${(typeof fault === 'string' ? fault : JSON.stringify(fault)).slice(0, 200)}`;
  if (truncateStatus !== undefined) return truncateStatus;
  return info['finishReason'] === 'length' ? 'response_truncated' : undefined;
}

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Name of a rollout, `batch/task/run`, as in logs. */
export const runNameOf = ({
  batch,
  task,
  run,
}: Pick<HeadFields, 'batch' | 'task' | 'run'>): string => `${batch}/${task}/${run}`;
