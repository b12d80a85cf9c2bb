/**
 * Ids of tool calls. They are computed from the position of the call in the rollout, so that equal
 * rollouts have equal ids.
 */
import type { ToolCallParser } from './types.js';

/**
 * Position of a tool call in a rollout: the number of the model call, the number of the choice in
 * its response, and the index of the tool call in the choice.
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
 * Returns the number of the model call, within the rollout, whose response contains the tool call
 * with this id. Returns undefined for ids that {@link toolCallId} did not make.
 */
export function callOfId(id: string): number | undefined {
  const long = /^call_(\d+)_\d+_\d+$/.exec(id)?.[1];
  if (long !== undefined) return Number(long);
  const nine = /^c([\da-z]{4})[\da-z]{4}$/.exec(id)?.[1];
  return nine === undefined ? undefined : Number.parseInt(nine, 36);
}
