/**
 * Stand-in for `@agentscope-ai/agentscope/formatter`: one wire message per message, so the turns of
 * a reply are mixed in it.
 */
import type { Msg, TextBlock } from './message.js';

export interface FormatterBase {
  format(options: { msgs: Msg[] }): Promise<Record<string, unknown>[]>;
}

/**
 * Of each message: all its texts, then all its tool calls in one wire message, then all results.
 * Names and content lists for all roles.
 */
export class OpenAIChatFormatter implements FormatterBase {
  format({ msgs }: { msgs: Msg[] }): Promise<Record<string, unknown>[]> {
    return Promise.resolve(msgs.flatMap(wireMessages));
  }
}

function wireMessages({ role, name, content }: Msg): Record<string, unknown>[] {
  const texts = content.filter((block) => block.type === 'text');
  const calls = content.filter((block) => block.type === 'tool_call');
  const results = content.filter((block) => block.type === 'tool_result');
  const spoken = {
    role,
    name,
    content: texts.length > 0 ? texts.map(({ text }) => ({ type: 'text', text })) : null,
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.input },
      })),
    }),
  };
  return [
    ...(texts.length + calls.length > 0 ? [spoken] : []),
    ...results.map((result) => ({
      role: 'tool',
      tool_call_id: result.id,
      name: result.name,
      content: textOf(result.output),
    })),
  ];
}

const textOf = (output: string | TextBlock[]): string =>
  typeof output === 'string' ? output : output.map(({ text }) => text).join('\n');
