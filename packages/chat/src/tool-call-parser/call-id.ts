/**
 * Ids of tool calls. They are derived from the place of the call, so that equal rollouts have equal
 * ids.
 */
import type { ToolCallParser } from './types.js';

/**
 * Place of a tool call: the model call in the rollout, its choice, and the position in the
 * response.
 */
export interface CallPlace {
  readonly call: number;
  readonly choice: number;
  readonly index: number;
}

const short = (value: number, length: number): string => value.toString(36).padStart(length, '0');

export function toolCallId(
  { call, choice, index }: CallPlace,
  style: ToolCallParser['callIds'] = 'any',
): string {
  return style === 'any'
    ? `call_${call}_${choice}_${index}`
    : `c${short(call, 4)}${short(choice, 2)}${short(index, 2)}`;
}

/**
 * Returns the number, within the rollout, of the model call that made the tool call with this id.
 * Returns undefined for ids of another format.
 */
export function callOfId(id: string): number | undefined {
  const long = /^call_(\d+)_\d+_\d+$/.exec(id)?.[1];
  if (long !== undefined) return Number(long);
  const nine = /^c([\da-z]{4})[\da-z]{4}$/.exec(id)?.[1];
  return nine === undefined ? undefined : Number.parseInt(nine, 36);
}
