/** Converts model responses and observations of the environment to chat messages. */
import type { ChatMessage, ChatResponse, ToolCall } from '@trinity-rft/core';
import type { Episode } from '../seam/types.js';

/**
 * Returns the first messages of the conversation.
 * @param system system prompt that replaces the episode's instructions
 */
export function opening(
  { instructions, observation }: Pick<Episode, 'instructions' | 'observation'>,
  system = instructions,
): ChatMessage[] {
  const first: ChatMessage = { role: 'user', content: observation };
  return system === undefined ? [first] : [{ role: 'system', content: system }, first];
}

/** Converts the model's response to a message for the next request. */
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

/** Converts an observation to a message for the model. */
export const asObservation = (observation: string, call: ToolCall | undefined): ChatMessage =>
  call === undefined
    ? { role: 'user', content: observation }
    : { role: 'tool', tool_call_id: call.id, content: observation };
