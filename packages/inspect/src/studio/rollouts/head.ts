/** Fields of an experience that the list and the details both show. */
import type { ExperienceHead } from '@trinity-rft/buffer';
import { type Experience, uid } from '@trinity-rft/core';
import type { RolloutRow } from '../interface/types.js';

export type HeadFields = Pick<
  RolloutRow,
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

/** A row of the list, without the results of train steps. */
export function summaryOf(head: ExperienceHead, toolCalls: number): RolloutRow {
  const { eid, promptLength, tokens, actionMask, info, truncateStatus } = head;
  return {
    ...headOf(head.id, head),
    step: eid.step,
    calls: head.spans?.length ?? 1,
    advantage: head.advantage,
    promptTokens: promptLength,
    responseTokens: tokens.length - promptLength,
    trainedTokens: actionMask.reduce((sum, bit) => sum + bit, 0),
    toolCalls,
    finishReason: textOf(info['finishReason']),
    truncated: truncateStatus,
    fork: textOf(info['fork']),
    problem: problemOf(head),
  };
}

/** Problem of an experience, according to its record. */
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

/** Name `batch/task/run`, as in logs. */
export const runNameOf = ({
  batch,
  task,
  run,
}: Pick<RolloutRow, 'batch' | 'task' | 'run'>): string => `${batch}/${task}/${run}`;
