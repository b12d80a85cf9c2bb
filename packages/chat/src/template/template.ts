/** Renders messages with a model's Jinja chat template. */
import { Template } from '@huggingface/jinja';
import { CheckpointError, describeError, ModelError, type ToolDefinition } from '@trinity-rft/core';
import type { NormalMessage } from '../messages/messages.js';

export interface RenderInput {
  readonly messages: readonly NormalMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Adds what an assistant turn begins with. */
  readonly addGenerationPrompt: boolean;
  /** Left to the template when absent. */
  readonly enableThinking?: boolean;
}

export interface ChatTemplate {
  readonly source: string;
  /** @throws ModelError 400 when the template refuses the messages */
  render(input: RenderInput): string;
}

/**
 * Compiles a template. `variables` are seen by it, for example the special tokens.
 * @throws CheckpointError for a syntax error
 */
export function createChatTemplate(
  source: string,
  variables: Readonly<Record<string, unknown>> = {},
): ChatTemplate {
  const template = compile(source);
  const printsIds = /\bid\b|tool_call_id/.test(source);
  const raw = (input: RenderInput, form: ArgumentForm): string =>
    template.render({
      ...variables,
      messages: input.messages.map((message) => toTemplate(message, form, printsIds)),
      tools: input.tools && input.tools.length > 0 ? input.tools : null,
      add_generation_prompt: input.addGenerationPrompt,
      // Set in any case: the interpreter is slow with names it does not know. Undefined is not
      // "defined" in Jinja either.
      enable_thinking: input.enableThinking,
    });
  const form = argumentForm(raw);
  return {
    source,
    render: (input) => {
      try {
        return raw(input, form);
      } catch (cause) {
        throw new ModelError(`The chat template refuses these messages: ${describeError(cause)}`, {
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
    // Python's Jinja reads every line ending as a line feed.
    return new Template(source.replaceAll(/\r\n?/g, '\n'));
  } catch (cause) {
    throw new CheckpointError(`The chat template is not valid Jinja: ${describeError(cause)}`, {
      code: 'TEMPLATE_INVALID',
      cause,
    });
  }
}

/** Whether tool-call arguments reach the template as the text the model wrote, or parsed. */
type ArgumentForm = 'text' | 'parsed';

/**
 * Text keeps spacing, key order and number spelling, so it is preferred wherever the template
 * prints it as it is.
 */
function argumentForm(render: (input: RenderInput, form: ArgumentForm) => string): ArgumentForm {
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
  const attempt = (form: ArgumentForm): string | undefined => {
    try {
      return render({ messages, addGenerationPrompt: false }, form);
    } catch {
      return undefined;
    }
  };
  if (attempt('text')?.includes(probe)) return 'text';
  return attempt('parsed')?.includes('probe') ? 'parsed' : 'text';
}

function toTemplate(
  message: NormalMessage,
  form: ArgumentForm,
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
        function: { name, arguments: form === 'text' ? text : parsed(text) },
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
