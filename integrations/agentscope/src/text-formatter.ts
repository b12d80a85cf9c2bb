/** Messages as chat completions know them, for agents that read and write text. */
import { ModelError } from '@trinity-rft/core';
import type { ContentBlock, Message, OutputBlock, TextBlock } from './message.js';

/**
 * Without thoughts, as AgentScope's own formatter.
 * @throws ModelError 400 for data: models are trained on text
 */
export function wireMessages({ role, name, content }: Message): Record<string, unknown>[] {
  content.forEach(({ type }) => refuseData(type));
  const texts = content.filter((block) => block.type === 'text');
  const calls = content.filter((block) => block.type === 'tool_call');
  const results = content.filter((block) => block.type === 'tool_result');
  const toolCalls = calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.input },
  }));
  const spoken = {
    role,
    name,
    content: texts.length > 0 ? texts.map(({ text }) => ({ type: 'text', text })) : null,
    ...(calls.length > 0 && { tool_calls: toolCalls }),
  };
  return [
    ...(isSaid(texts) || calls.length > 0 ? [spoken] : []),
    ...results.map(({ id, name: tool, output }) => ({
      role: 'tool',
      tool_call_id: id,
      name: tool,
      content: outputText(output),
    })),
  ];
}

/** An agent without a system prompt has an empty one, which is not sent. */
const isSaid = (texts: readonly TextBlock[]): boolean => texts.some(({ text }) => text !== '');

/** A line per block. */
export function outputText(output: string | readonly OutputBlock[]): string {
  if (typeof output === 'string') return output;
  output.forEach(({ type }) => refuseData(type));
  return output.map(({ text = '' }) => text).join('\n');
}

function refuseData(type: ContentBlock['type'] | (string & {})): void {
  if (type !== 'data') return;
  throw new ModelError(
    'A message holds data (an image or a sound). Expected text: give turnFormatter the formatter that prints it.',
    {
      code: 'UNSUPPORTED_CONTENT',
      status: 400,
    },
  );
}
