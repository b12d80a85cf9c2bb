/** Writes tools into the texts of messages, for chat templates that do not support them. */
import type { ToolDefinition } from '@trinity-rft/core';
import type { NormalMessage } from '../messages/messages.js';
import type { ChatTemplate, RenderInput } from './template.js';

/**
 * The template with tools in the system message, and calls and results in the texts of assistant
 * and user messages, in the syntax of the parser `hermes`.
 */
export const withToolsInMessages = (template: ChatTemplate): ChatTemplate => ({
  source: template.source,
  render: ({ messages, tools = [], ...rest }) =>
    template.render({ ...rest, messages: inTexts(described(messages, tools)) }),
});

function described(
  messages: readonly NormalMessage[],
  tools: readonly ToolDefinition[],
): readonly NormalMessage[] {
  if (tools.length === 0) return messages;
  const [first] = messages;
  const hasSystem = first?.role === 'system';
  const content = `${hasSystem ? `${first.content}\n\n` : ''}${description(tools)}`;
  return [{ role: 'system', content }, ...messages.slice(Number(hasSystem))];
}

const description = (tools: readonly ToolDefinition[]): string =>
  `# Tools

These functions can be called:
<tools>
${tools.map((tool) => JSON.stringify({ type: tool.type, function: tool.function })).join('\n')}
</tools>

A call is a JSON object between tags:
<tool_call>
{"name": <name>, "arguments": <object>}
</tool_call>`;

/**
 * Converts tool calls and results to text. Consecutive results share a message, because many
 * templates require that roles alternate.
 */
function inTexts(messages: readonly NormalMessage[]): readonly NormalMessage[] {
  const texts: NormalMessage[] = [];
  messages.forEach((message, i) => {
    const { role, content, tool_calls: _, ...rest } = message;
    const result = `<tool_response>\n${content}\n</tool_response>`;
    const last = texts.at(-1);
    if (role !== 'tool') texts.push({ role, content: withCalls(message), ...rest });
    else if (last && messages[i - 1]?.role === 'tool')
      texts[texts.length - 1] = { ...last, content: `${last.content}\n${result}` };
    else texts.push({ role: 'user', content: result });
  });
  return texts;
}

const withCalls = ({ content, tool_calls: calls = [] }: NormalMessage): string =>
  [
    ...(content === '' && calls.length > 0 ? [] : [content]),
    ...calls.map(
      ({ function: call }) =>
        `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${call.arguments}}\n</tool_call>`,
    ),
  ].join('\n');

/**
 * Returns true if a model can see tools through the template: the template prints the names of
 * tools, or at least the names in calls (templates for models that know their tools from training).
 * Also returns true for a template that rejects the test messages.
 */
export function printsTools(template: ChatTemplate): boolean {
  const probe = 'probe_of_tools';
  const user = { role: 'user', content: 'x' } as const;
  const call = {
    id: 'probe0000',
    type: 'function',
    function: { name: probe, arguments: '{}' },
  } as const;
  const prints = (input: RenderInput): boolean => {
    try {
      return template.render(input).includes(probe);
    } catch {
      return true;
    }
  };
  const tools = [{ type: 'function', function: { name: probe, parameters: {} } }] as const;
  const calling = { role: 'assistant', content: '', tool_calls: [call] } as const;
  return (
    prints({ messages: [user], tools, addGenerationPrompt: true }) ||
    prints({ messages: [user, calling], addGenerationPrompt: false })
  );
}
