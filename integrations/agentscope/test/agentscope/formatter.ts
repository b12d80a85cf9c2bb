/** Formats each stored message as one wire message, which mixes the turns of a reply. */
import type { Msg, TextBlock } from './message.ts';

export interface FormatterBase {
  format(options: { msgs: Msg[] }): Promise<Record<string, unknown>[]>;
}

/**
 * Formatter that sends one wire message per message, with all its texts and tool calls, followed by all tool results.
 * Every role has a name, and a list as content.
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
