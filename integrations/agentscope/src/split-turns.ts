import type { Message } from './message.js';

/**
 * Splits a message into turns, each of which ends with its tool results. AgentScope's agents store
 * all turns of a reply in one assistant message, in chronological order.
 */
export function splitTurns<Msg extends Message<{ type: string }>>(message: Msg): readonly Msg[] {
  let turn: Msg['content'] = [];
  const turns = [turn];
  for (const block of message.content) {
    if (turn.at(-1)?.type === 'tool_result' && block.type !== 'tool_result') {
      turn = [];
      turns.push(turn);
    }
    turn.push(block);
  }
  return turns.length === 1 ? [message] : turns.map((content) => ({ ...message, content }));
}
