/** Messages of the model and the environment in the conversation. */
import type { ChatMessage, ChatResponse, ToolCall } from '@trinity-rft/core';
import type { Episode } from '../seam/types.js';

/** The messages that the model sees first. @param system in place of the instructions of the episode */
export function opening(
  { instructions, observation }: Pick<Episode, 'instructions' | 'observation'>,
  system = instructions,
): ChatMessage[] {
  const first: ChatMessage = { role: 'user', content: observation };
  return system === undefined ? [first] : [{ role: 'system', content: system }, first];
}

/** The answer as the next request repeats it. */
export const asMessage = ({
  responseText,
  reasoningText,
  toolCalls,
}: Pick<ChatResponse, 'responseText' | 'reasoningText' | 'toolCalls'>): ChatMessage => ({
  role: 'assistant',
  content: responseText,
  reasoning_content: reasoningText,
  tool_calls: toolCalls.length > 0 ? toolCalls : undefined,
});

/** Words of the environment for the model. */
export const asObservation = (observation: string, call: ToolCall | undefined): ChatMessage =>
  call === undefined
    ? { role: 'user', content: observation }
    : { role: 'tool', tool_call_id: call.id, content: observation };
