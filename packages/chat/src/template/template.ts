/** Renders messages with a model's Jinja chat template. */
import { Template } from '@huggingface/jinja';
import { describeError, ModelError, type ToolDefinition } from '@trinity-rft/core';
import { CheckpointError } from '@trinity-rft/core/internal';
import type { NormalMessage } from '../messages/messages.js';

interface RenderInput {
  readonly messages: readonly NormalMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Adds the beginning of an assistant turn. */
  readonly addGenerationPrompt: boolean;
  /** Left to the template when absent. */
  readonly enableThinking?: boolean;
}

export interface ChatTemplate {
  readonly source: string;
  /** @throws ModelError 400 when the template rejects the messages */
  render(input: RenderInput): string;
}

/**
 * Compiles a template.
 * @param variables visible to the template, for example the special tokens
 * @throws CheckpointError for a syntax error
 */
export function createChatTemplate(
  source: string,
  variables: Readonly<Record<string, unknown>> = {},
): ChatTemplate {
  const template = compile(source);
  const printsIds = /\bid\b|tool_call_id/.test(source);
  const renderWith = (input: RenderInput, format: ArgumentFormat): string =>
    template.render({
      ...variables,
      messages: input.messages.map((message) => toTemplate(message, format, printsIds)),
      tools: input.tools && input.tools.length > 0 ? input.tools : null,
      add_generation_prompt: input.addGenerationPrompt,
      // Set even if undefined, since the interpreter is slow with unknown names. In Jinja undefined
      // is not "defined" either.
      enable_thinking: input.enableThinking,
    });
  const format = argumentFormat(renderWith);
  return {
    source,
    render: (input) => {
      try {
        return renderWith(input, format);
      } catch (cause) {
        throw new ModelError(`The chat template rejects these messages: ${describeError(cause)}`, {
          status: 400,
          code: 'chat_template_refused',
          cause,
        });
      }
    },
  };
}

function compile(source: string): Template {
  try {
    // As in Python's Jinja, every line ending is a line feed.
    return new Template(source.replaceAll(/\r\n?/g, '\n'));
  } catch (cause) {
    throw new CheckpointError(`The chat template is not valid Jinja: ${describeError(cause)}`, {
      code: 'TEMPLATE_INVALID',
      cause,
    });
  }
}

/** Whether the template gets tool-call arguments as the text that the model wrote, or parsed. */
type ArgumentFormat = 'text' | 'parsed';

/**
 * Text, if the template prints it unchanged: it preserves spacing, key order and number formats.
 */
function argumentFormat(
  render: (input: RenderInput, format: ArgumentFormat) => string,
): ArgumentFormat {
  const probe = '{"probe":  1}';
  const call = {
    id: 'probe',
    type: 'function',
    function: { name: 'probe', arguments: probe },
  } as const;
  const messages: readonly NormalMessage[] = [
    { role: 'user', content: 'probe' },
    { role: 'assistant', content: '', tool_calls: [call] },
  ];
  const attempt = (format: ArgumentFormat): string | undefined => {
    try {
      return render({ messages, addGenerationPrompt: false }, format);
    } catch {
      return undefined;
    }
  };
  if (attempt('text')?.includes(probe)) return 'text';
  return attempt('parsed')?.includes('probe') ? 'parsed' : 'text';
}

function toTemplate(
  message: NormalMessage,
  format: ArgumentFormat,
  printsIds: boolean,
): Readonly<Record<string, unknown>> {
  const { tool_calls: calls, tool_call_id: callId, ...rest } = message;
  return {
    ...rest,
    ...(printsIds && callId !== undefined && { tool_call_id: callId }),
    ...(calls && {
      tool_calls: calls.map(({ id, type, function: { name, arguments: text } }) => ({
        ...(printsIds && { id }),
        type,
        function: { name, arguments: format === 'text' ? text : parsed(text) },
      })),
    }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
