/** One message of a whole reply as one message per turn. */
import type { Message } from './message.js';

/**
 * AgentScope's agent keeps all turns of a reply in one assistant message, its blocks in order of
 * time. A turn ends with its tool results: what follows them is the next one. Messages without
 * results stay as they are.
 */
export function splitTurns<Msg extends Message<{ type: string }>>(message: Msg): readonly Msg[] {
  const turns: Msg['content'][] = [[]];
  for (const block of message.content) {
    const turn = turns.at(-1)!;
    if (turn.at(-1)?.type === 'tool_result' && block.type !== 'tool_result') turns.push([block]);
    else turn.push(block);
  }
  return turns.length === 1 ? [message] : turns.map((content) => ({ ...message, content }));
}
