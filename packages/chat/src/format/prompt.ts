/** Renders messages to a prompt, and makes keys that identify prompts. */
import { ModelError, type ToolDefinition } from '@trinity-rft/core';
import type { NormalMessage } from '../messages/messages.js';
import type { ChatTemplate } from '../template/template.js';

export interface PromptInput {
  readonly messages: readonly NormalMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Value of `enable_thinking`. @default the value of the chat format */
  readonly enableThinking?: boolean;
  /** Additional variables for the template, which take precedence over all other variables. */
  readonly templateArgs?: Readonly<Record<string, unknown>>;
}

/**
 * Private-use character that templates print unchanged. Added to a message, it shows the position
 * of the message in a rendering.
 */
export const marker = '\uF8F0';

/**
 * Renders a prompt up to the position where the model begins to write: a new turn, or the
 * continuation of a prefilled message.
 */
export function renderPrompt(template: ChatTemplate, { messages, ...rest }: PromptInput): string {
  const last = messages.at(-1);
  if (!isPrefill(last)) return template.render({ ...rest, messages, addGenerationPrompt: true });
  const text = template.render({
    ...rest,
    messages: [...messages.slice(0, -1), { ...last, content: last.content + marker }],
    addGenerationPrompt: false,
  });
  const end = text.lastIndexOf(marker);
  if (end < 0) {
    throw new ModelError(
      'The chat template does not print the last assistant message, so the model cannot continue it. End the messages with another role.',
      { status: 400, code: 'chat_template_refused' },
    );
  }
  return text.slice(0, end);
}

/** Returns true if the model continues the message, provided that the message is the last one. */
export function isPrefill(message: NormalMessage | undefined): message is NormalMessage {
  return message?.role === 'assistant' && message.tool_calls === undefined;
}

/** Returns a string that is equal for equal prompts, as a key for caches. */
export const promptKey = ({ messages, ...options }: PromptInput): string =>
  `${JSON.stringify(messages)}${promptOptionsKey(options)}`;

/**
 * Returns a string that is equal for equal tools and template variables. A prompt is determined by
 * these and the messages.
 */
export function promptOptionsKey({
  tools,
  enableThinking,
  templateArgs,
}: Pick<PromptInput, 'tools' | 'enableThinking' | 'templateArgs'>): string {
  const switches = templateArgs ? JSON.stringify(templateArgs) : '';
  return `${enableThinking}${switches}${tools ? toolsKey(tools) : ''}`;
}

/** Cache of the keys of tools. The keys are long, and needed several times per call. */
const toolsKeys = new WeakMap<readonly ToolDefinition[], string>();

function toolsKey(tools: readonly ToolDefinition[]): string {
  let key = toolsKeys.get(tools);
  if (key === undefined)
    toolsKeys.set(tools, (key = tools.length > 0 ? JSON.stringify(tools) : ''));
  return key;
}
