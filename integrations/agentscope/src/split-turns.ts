import type { Message } from './message.js';

/**
 * Splits a message after the tool results of each turn. AgentScope's agents keep all turns of a
 * reply in one assistant message, in chronological order.
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
