/**
 * Converts AgentScope's messages to Chat Completions messages, for agents that read and write text.
 */
import { ModelError } from '@trinity-rft/core';
import type { ContentBlock, Message, OutputBlock, TextBlock } from './message.js';

/**
 * Converts a message to Chat Completions messages. Omits thinking blocks, as AgentScope's own
 * formatter does.
 * @throws ModelError 400 for data blocks
 */
export function wireMessages({ role, name, content }: Message): Record<string, unknown>[] {
  content.forEach(({ type }) => rejectData(type));
  const texts = content.filter((block) => block.type === 'text');
  const calls = content.filter((block) => block.type === 'tool_call');
  const results = content.filter((block) => block.type === 'tool_result');
  const toolCalls = calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.input },
  }));
  const message = {
    role,
    name,
    content: texts.length > 0 ? texts.map(({ text }) => ({ type: 'text', text })) : null,
    ...(calls.length > 0 && { tool_calls: toolCalls }),
  };
  return [
    ...(hasText(texts) || calls.length > 0 ? [message] : []),
    ...results.map(({ id, name: tool, output }) => ({
      role: 'tool',
      tool_call_id: id,
      name: tool,
      content: outputText(output),
    })),
  ];
}

/**
 * Returns true if any of the texts is not empty. Agents without a system prompt send an empty text
 * block, and such messages are omitted.
 */
const hasText = (texts: readonly TextBlock[]): boolean => texts.some(({ text }) => text !== '');

/** Returns the text parts of a tool's output, joined by line breaks. */
export function outputText(output: string | readonly OutputBlock[]): string {
  if (typeof output === 'string') return output;
  output.forEach(({ type }) => rejectData(type));
  return output.map(({ text = '' }) => text).join('\n');
}

function rejectData(type: ContentBlock['type'] | (string & {})): void {
  if (type !== 'data') return;
  throw new ModelError(
    'A message holds data (an image or a sound); expected text. ' +
      'Pass turnFormatter a formatter that supports it.',
    { code: 'UNSUPPORTED_CONTENT', status: 400 },
  );
}
