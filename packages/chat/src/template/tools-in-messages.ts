/** Writes tools into the content of messages, for chat templates that do not support them. */
import type { ToolDefinition } from '@trinity-rft/core';
import { withInstructions, type InstructionRole } from '../messages/instructions.js';
import type { NormalMessage } from '../messages/messages.js';
import type { ChatTemplate, RenderInput } from './template.js';

/**
 * Returns a template that describes tools in the system message, and prints calls and results in
 * the content of assistant and user messages, in the syntax of the parser `hermes`. If the given
 * template prints no system message, such as Gemma 2's, tools are described in the first user
 * message.
 */
export function withToolsInMessages(template: ChatTemplate): ChatTemplate {
  const role = instructionRole(template);
  const described = (messages: readonly NormalMessage[], tools: readonly ToolDefinition[]) =>
    tools.length === 0 ? messages : withInstructions(messages, [description(tools)], role);
  return {
    source: template.source,
    render: ({ messages, tools = [], ...rest }) =>
      template.render({ ...rest, messages: inTexts(described(messages, tools)) }),
  };
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

const probe = 'probe_of_tools';
const user = { role: 'user', content: 'x' } as const;

/**
 * Returns the role of the message for instructions: `system`, or `user` if the template prints no
 * system message.
 */
export function instructionRole(template: ChatTemplate): InstructionRole {
  const messages = [{ role: 'system', content: probe }, user] as const;
  return prints(template, { messages, addGenerationPrompt: true }, false) ? 'system' : 'user';
}

/**
 * Returns true if the rendered input contains {@link probe}. Returns `otherwise` if the template
 * rejects the input.
 */
function prints(template: ChatTemplate, input: RenderInput, otherwise: boolean): boolean {
  try {
    return template.render(input).includes(probe);
  } catch {
    return otherwise;
  }
}

/**
 * Returns true if a template supports tools: it prints the names of the tools, or at least those in
 * calls (some models know their tools from training). Also returns true for a template that rejects
 * the test messages.
 */
export function printsTools(template: ChatTemplate): boolean {
  const call = {
    id: 'probe0000',
    type: 'function',
    function: { name: probe, arguments: '{}' },
  } as const;
  const tools = [{ type: 'function', function: { name: probe, parameters: {} } }] as const;
  const calling = { role: 'assistant', content: '', tool_calls: [call] } as const;
  return (
    prints(template, { messages: [user], tools, addGenerationPrompt: true }, true) ||
    prints(template, { messages: [user, calling], addGenerationPrompt: false }, true)
  );
}
