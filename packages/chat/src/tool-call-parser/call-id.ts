/**
 * Ids of tool calls. They are computed from the position of the call in the rollout, so that equal
 * rollouts have equal ids. Models that serve clients add a salt, because a conversation may
 * continue in another session or process, where positions begin at 0 again.
 */
import { deriveSeed } from '@trinity-rft/core';
import type { ToolCallParser } from './types.js';

/**
 * Position of a tool call in a rollout: the number of the model call, the number of the choice in
 * its response, and the index of the tool call in the choice.
 */
export interface CallPlace {
  readonly call: number;
  readonly choice: number;
  readonly index: number;
  /**
   * Letters and digits that make ids differ from those of other models. @default undefined: equal
   * positions have equal ids
   */
  readonly salt?: string | undefined;
}

const short = (value: number, length: number): string => value.toString(36).padStart(length, '0');

export function toolCallId(
  { call, choice, index, salt }: CallPlace,
  style: ToolCallParser['callIds'] = 'any',
): string {
  if (style === 'any')
    return `call_${salt === undefined ? '' : `${salt}_`}${call}_${choice}_${index}`;
  if (salt === undefined) return `c${short(call, 4)}${short(choice, 2)}${short(index, 2)}`;
  const hash = (part: number): string => short(deriveSeed(part, salt, call, choice, index), 7);
  return `d${hash(0)}${hash(1).slice(-1)}`;
}

/**
 * Returns the number of the model call, within the rollout, whose response contains the tool call
 * with this id. Returns undefined for ids with a salt, and ids that {@link toolCallId} did not make.
 */
export function callOfId(id: string): number | undefined {
  const long = /^call_(\d+)_\d+_\d+$/.exec(id)?.[1];
  if (long !== undefined) return Number(long);
  const nine = /^c([\da-z]{4})[\da-z]{4}$/.exec(id)?.[1];
  return nine === undefined ? undefined : Number.parseInt(nine, 36);
}
