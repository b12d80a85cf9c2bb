/** Reasoning that an agent left out of its history, put back from the recorded turns. */
import { continues } from '../format/chat-format.js';
import type { NormalMessage } from '../template/messages.js';
import { messageKey } from './message-key.js';
import { after, type Turn, type TurnStore } from './turn.js';

export interface Restored {
  readonly messages: readonly NormalMessage[];
  /** How many of them have their reasoning back. */
  readonly count: number;
}

/**
 * An assistant message without reasoning gets that of the recorded turn which is the same in
 * everything else and stands behind the same messages. Tool calls match by id and values, text by
 * being equal.
 */
export function restoreReasoning(messages: readonly NormalMessage[], turns: TurnStore): Restored {
  const end = continues(messages.at(-1)) ? messages.length - 1 : messages.length;
  let place = turns.root;
  let count = 0;
  const restored = messages.map((message, index) => {
    const turn =
      index < end && message.role === 'assistant' && message.reasoning_content === undefined
        ? bareTwin(message, place.turns)
        : undefined;
    if (turn !== undefined) count++;
    const whole = turn === undefined ? message : { ...message, reasoning_content: turn };
    place = after(place, messageKey(whole));
    return whole;
  });
  return { messages: restored, count };

  function bareTwin(message: NormalMessage, said: readonly Turn[]): string | undefined {
    const wanted = messageKey(message);
    const same = said.filter((turn) => messageKey(withoutReasoning(turn.message)) === wanted);
    // A turn that had none is the better match: nothing was left out.
    return same.some((turn) => turn.message.reasoning_content === undefined)
      ? undefined
      : same.at(-1)?.message.reasoning_content;
  }
}

const withoutReasoning = ({ role, content, tool_calls: calls }: NormalMessage): NormalMessage => ({
  role,
  content,
  ...(calls && { tool_calls: calls }),
});
