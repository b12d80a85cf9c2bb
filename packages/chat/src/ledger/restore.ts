/** Restores reasoning that an agent omitted from its history, from the recorded turns. */
import { isPrefill } from '../format/prompt.js';
import type { NormalMessage } from '../messages/messages.js';
import { messageKey, messageSteps } from './message-key.js';
import { placesAfter, turnsAt, type Turn, type TurnStore } from './turn.js';

export interface Restored {
  readonly messages: readonly NormalMessage[];
  /** Number of messages into which reasoning was inserted. */
  readonly count: number;
}

/**
 * Inserts recorded reasoning into assistant messages without reasoning. A message gets the
 * reasoning of a recorded turn that followed the same messages and equals the message otherwise:
 * tool calls must have the same ids and values, text must be equal.
 */
export function restoreReasoning(messages: readonly NormalMessage[], turns: TurnStore): Restored {
  const end = isPrefill(messages.at(-1)) ? messages.length - 1 : messages.length;
  let places = turns.roots();
  let count = 0;
  const restored = messages.map((message, index) => {
    const reasoning = index < end ? recordedReasoning(message, turnsAt(places)) : undefined;
    if (reasoning !== undefined) count++;
    const whole = reasoning === undefined ? message : { ...message, reasoning_content: reasoning };
    places = placesAfter(places, messageSteps(whole));
    return whole;
  });
  return { messages: restored, count };
}

function recordedReasoning(
  message: NormalMessage,
  candidates: readonly Turn[],
): string | undefined {
  if (message.role !== 'assistant' || message.reasoning_content !== undefined) return undefined;
  const key = messageKey(message);
  const same = candidates.filter((turn) => messageKey(withoutReasoning(turn.message)) === key);
  // If a recorded turn without reasoning matches too, the agent did not leave anything out.
  return same.some((turn) => turn.message.reasoning_content === undefined)
    ? undefined
    : same.at(-1)?.message.reasoning_content;
}

const withoutReasoning = ({ role, content, tool_calls }: NormalMessage): NormalMessage => ({
  role,
  content,
  tool_calls,
});
