/**
 * A model's way to read and write conversations: tokenizer, template and parsers together, shared
 * by all its rollouts.
 */
import { ConfigError, ModelError, type TextGrammar, type ToolDefinition } from '@trinity-rft/core';
import { answerGrammar, type AnswerForm } from '../constraint/answer-grammar.js';
import { createLru } from './lru.js';
import { reasoningParsers } from '../reasoning-parser/table.js';
import type { ReasoningParser } from '../reasoning-parser/types.js';
import type { NormalMessage } from '../template/messages.js';
import { createChatTemplate, type ChatTemplate } from '../template/template.js';
import type { Tokenizer } from '../tokenizer/tokenizer.js';
import { toolCallParsers } from '../tool-call-parser/table.js';
import type { ParsedToolCall, ToolCallParser } from '../tool-call-parser/types.js';

export interface ChatFormatOptions {
  readonly tokenizer: Tokenizer;
  /** Jinja source. @default the tokenizer's own */
  readonly chatTemplate?: string;
  /** Name in {@link toolCallParsers}. @default none: tool calls stay in the text */
  readonly toolCallParser?: string;
  /** Name in {@link reasoningParsers}. @default none: reasoning stays in the text */
  readonly reasoningParser?: string;
  /** More variables for the template (`chat_template_kwargs`). */
  readonly templateArgs?: Readonly<Record<string, unknown>>;
}

export interface PromptInput {
  readonly messages: readonly NormalMessage[];
  readonly tools?: readonly ToolDefinition[];
  readonly enableThinking?: boolean;
}

/** A sampled turn, taken apart. */
export interface ParsedTurn {
  /** Without reasoning, tool calls, special tokens and the stop string. */
  readonly text: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly ParsedToolCall[];
  readonly malformedToolCalls: number;
}

export interface ReadTurnOptions {
  /** Look for tool calls. */
  readonly tools: boolean;
  /** The text ends before its last occurrence. */
  readonly stopString?: string;
}

/** Stateless but for caches; share one per model. */
export interface ChatFormat {
  readonly tokenizer: Tokenizer;
  /** The tokenizer's end tokens, and the token the template closes an assistant turn with. */
  readonly stopTokenIds: readonly number[];
  /**
   * The prompt as text, up to where the model begins to write. A conversation that ends with an
   * assistant message without tool calls is continued within that message. @throws ModelError 400
   * when the template refuses the messages
   */
  render(input: PromptInput): string;
  /**
   * A whole conversation as text, its last message closed; what supervised data is made of.
   * @throws ModelError as {@link render}
   */
  renderWhole(input: PromptInput): string;
  /** Ids of a rendered text; equal texts share one array, so do not write to it. */
  encode(text: string): Int32Array;
  readTurn(tokens: Int32Array, options: ReadTurnOptions): ParsedTurn;
  /**
   * What the sampler has to keep to so that the answer to `promptIds` has this form; nothing where
   * the form leaves everything open.
   * @throws ModelError 400 naming what of a schema cannot be followed
   */
  constrain(form: AnswerForm, promptIds: Int32Array): TextGrammar | undefined;
}

/** How many prompts are remembered; a group of runs asks for the same one again and again. */
const rememberedPrompts = 2048;

/** @throws ConfigError when there is no chat template or a parser's name is unknown */
export function createChatFormat(options: ChatFormatOptions): ChatFormat {
  const { tokenizer } = options;
  const templates = openTemplates(options);
  const reasoningParser: ReasoningParser | undefined = lookUp(
    reasoningParsers,
    options.reasoningParser,
    'reasoning_parser',
  );
  const toolCallParser: ToolCallParser | undefined = lookUp(
    toolCallParsers,
    options.toolCallParser,
    'tool_call_parser',
  );
  const hidden = hiddenIds(tokenizer, [
    ...(reasoningParser?.markers ?? []),
    ...(toolCallParser?.markers ?? []),
  ]);
  const texts = createLru<string>(rememberedPrompts);
  const ids = createLru<Int32Array>(rememberedPrompts);
  return {
    tokenizer,
    stopTokenIds: stopIds(tokenizer, templates.plain),
    render: (input) =>
      texts.get(keyOf(input), () =>
        render(input.tools?.length ? templates.tools : templates.plain, input),
      ),
    renderWhole: (input) =>
      (input.tools?.length ? templates.tools : templates.plain).render({
        ...input,
        addGenerationPrompt: false,
      }),
    encode: (text) => ids.get(text, () => tokenizer.encode(text)),
    readTurn: (tokens, { tools, stopString }) => {
      const whole = beforeStop(tokenizer.decode(tokens, { skip: hidden }), stopString);
      const { reasoning, text } = reasoningParser
        ? reasoningParser.parse(whole)
        : { reasoning: undefined, text: whole };
      const parsed =
        tools && toolCallParser
          ? toolCallParser.parse(text)
          : { text, toolCalls: [], malformed: 0 };
      return {
        text: parsed.text,
        ...(reasoning !== undefined && { reasoning }),
        toolCalls: parsed.toolCalls,
        malformedToolCalls: parsed.malformed,
      };
    },
    constrain: (form, promptIds) => {
      const thinking =
        reasoningParser !== undefined &&
        tokenizer.decode(promptIds.slice(-8)).trimEnd().endsWith('<think>');
      const reasoning = thinking ? 'open' : reasoningParser ? 'may' : 'none';
      const [open, close] = toolCallParser?.markers ?? [];
      const call = open === undefined || close === undefined ? undefined : { open, close };
      return answerGrammar(form, { reasoning, call, excludedTokenIds: [...hidden] });
    },
  };
}

const toolTexts = new WeakMap<readonly ToolDefinition[], string>();

/**
 * What a prompt is rendered with besides its messages, as one text: equal for equal tools and
 * switches.
 */
export function optionsKey({
  tools,
  enableThinking,
}: Pick<PromptInput, 'tools' | 'enableThinking'>): string {
  let text = tools ? toolTexts.get(tools) : '';
  // Asked for several times in one call, and long.
  if (tools && text === undefined)
    toolTexts.set(tools, (text = tools.length > 0 ? JSON.stringify(tools) : ''));
  return `${enableThinking}${text}`;
}

const keyOf = ({ messages, ...options }: PromptInput): string =>
  `${JSON.stringify(messages)}${optionsKey(options)}`;

function openTemplates({ tokenizer, chatTemplate, templateArgs }: ChatFormatOptions): {
  readonly plain: ChatTemplate;
  readonly tools: ChatTemplate;
} {
  const { default: own, tool_use: forTools } = tokenizer.chatTemplates;
  const source = chatTemplate ?? own;
  if (source === undefined) {
    throw new ConfigError(
      'The model has no chat template. Put a chat_template.jinja into its folder, or set the chat template in the configuration.',
      {
        code: 'CHAT_TEMPLATE_MISSING',
      },
    );
  }
  const variables = { ...tokenizer.specialTokens, ...templateArgs };
  const plain = createChatTemplate(source, variables);
  return {
    plain,
    tools:
      chatTemplate === undefined && forTools !== undefined
        ? createChatTemplate(forTools, variables)
        : plain,
  };
}

function lookUp<T>(
  table: Readonly<Record<string, T>>,
  name: string | undefined,
  key: string,
): T | undefined {
  if (name === undefined) return undefined;
  if (!Object.hasOwn(table, name)) {
    throw new ConfigError(
      `${key} is "${name}", which is not known. Expected one of: ${Object.keys(table).join(', ')}.`,
      {
        code: 'PARSER_UNKNOWN',
      },
    );
  }
  return table[name];
}

/** Private-use characters that no template changes; they mark where a text went. */
const marker = '\uF8F0';

function render(template: ChatTemplate, { messages, ...rest }: PromptInput): string {
  const last = messages.at(-1);
  if (!continues(last)) return template.render({ ...rest, messages, addGenerationPrompt: true });
  const marked = { ...last, content: last.content + marker };
  const text = template.render({
    ...rest,
    messages: [...messages.slice(0, -1), marked],
    addGenerationPrompt: false,
  });
  const end = text.lastIndexOf(marker);
  if (end < 0) {
    throw new ModelError(
      'The chat template does not print the last assistant message, so it cannot be continued. End the messages with another role.',
      {
        status: 400,
        code: 'chat_template_refused',
      },
    );
  }
  return text.slice(0, end);
}

/** Whether the model is to go on writing this message. */
export function continues(message: NormalMessage | undefined): message is NormalMessage {
  return message?.role === 'assistant' && message.tool_calls === undefined;
}

function stopIds(tokenizer: Tokenizer, template: ChatTemplate): readonly number[] {
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: marker },
  ] as const;
  const text = attempt(() => template.render({ messages, addGenerationPrompt: false })) ?? '';
  const closing = text.slice(text.lastIndexOf(marker) + marker.length);
  const closer = tokenizer.encode(closing).find((id) => tokenizer.specialTokenIds.has(id));
  return [
    ...new Set(closer === undefined ? tokenizer.eosTokenIds : [...tokenizer.eosTokenIds, closer]),
  ];
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function hiddenIds(tokenizer: Tokenizer, visible: readonly string[]): ReadonlySet<number> {
  const kept = new Set(visible.map((token) => tokenizer.tokenToId(token)));
  return new Set([...tokenizer.specialTokenIds].filter((id) => !kept.has(id)));
}

function beforeStop(text: string, stopString: string | undefined): string {
  const at = stopString === undefined ? -1 : text.lastIndexOf(stopString);
  return at < 0 ? text : text.slice(0, at);
}
