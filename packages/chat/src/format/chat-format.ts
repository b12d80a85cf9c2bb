/** Tokenizer, chat template and parsers of one model: converts conversations to tokens and back. */
import { ConfigError, ModelError, type ToolDefinition } from '@trinity-rft/core';
import type { TextGrammar } from '@trinity-rft/core/engine';
import { LRUCache } from 'lru-cache';
import {
  responseGrammar,
  type ResponseConstraint,
  type WritingStyle,
} from '../constraint/response-grammar.js';
import { reasoningParsers } from '../reasoning-parser/table.js';
import { promptEnd } from '../reasoning-parser/think-block.js';
import type { PromptEnd, ReasoningParser } from '../reasoning-parser/types.js';
import { createChatTemplate, type ChatTemplate } from '../template/template.js';
import type { InstructionRole } from '../messages/instructions.js';
import {
  instructionRole,
  printsTools,
  withToolsInMessages,
} from '../template/tools-in-messages.js';
import type { Tokenizer } from '../tokenizer/types.js';
import { tokenByteTable } from '../tokenizer/token-bytes.js';
import { toolCallId, type CallPlace } from '../tool-call-parser/call-id.js';
import { toolCallParsers } from '../tool-call-parser/table.js';
import type { ParsedToolCall, ToolCallParser } from '../tool-call-parser/types.js';
import { detectReasoningParser, detectToolCallParser } from './detect-parsers.js';
import { marker, promptKey, renderPrompt, type PromptInput } from './prompt.js';
import { textBeforeStop } from './text-before-stop.js';
import { createTurnReader, type TurnReader } from './turn-reader.js';

export interface ChatFormatOptions {
  readonly tokenizer: Tokenizer;
  /** Source of the Jinja template. @default the tokenizer's template */
  readonly chatTemplate?: string;
  /**
   * Name in {@link toolCallParsers}, or `auto` for the parser that fits the chat template.
   * @default no parser: tool calls stay in the text
   */
  readonly toolCallParser?: string;
  /**
   * Name in {@link reasoningParsers}, or `auto` for the parser that fits the chat template, if the
   * template has reasoning.
   * @default no parser: reasoning stays in the text
   */
  readonly reasoningParser?: string;
  /**
   * True to use the tool call parser that fits the chat template, if it shows any, where
   * {@link toolCallParser} is not given.
   * @default false
   */
  readonly detectToolCalls?: boolean;
  /**
   * `generic` describes tools in the system message, or in the first user message if the chat
   * template prints no system message, and uses the syntax `hermes` for calls, even if the chat
   * template supports tools.
   * @default tools described by the chat template
   */
  readonly toolPrompt?: string;
  /**
   * Value of `enable_thinking` for prompts whose input does not set it.
   * @default undefined: the template decides
   */
  readonly enableThinking?: boolean;
  /** Additional variables for the template (`chat_template_kwargs`). */
  readonly templateArgs?: Readonly<Record<string, unknown>>;
}

/** A sampled turn, split into its parts. */
export interface ParsedTurn {
  /** Text without reasoning, tool calls, special tokens and the stop string. */
  readonly text: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly ParsedToolCall[];
  readonly malformedToolCalls: number;
  /**
   * Number of calls of offered tools in the text, in the syntax that fits the chat template, if
   * another parser is used, or none. Counted if no call was parsed.
   * @default 0
   */
  readonly unreadToolCalls?: number;
}

export interface ReadTurnOptions {
  /**
   * Tool definitions, or true, to parse tool calls; false to leave calls in the text. Some call
   * syntaxes, such as `qwen3_coder`, do not show the types of arguments; the types are then taken
   * from the definitions.
   */
  readonly tools: boolean | readonly ToolDefinition[];
  /** Token ids of the turn's prompt, which is searched for a think block that begins at its end. */
  readonly promptIds?: Int32Array;
  /** Stop string that the last token completes; the text ends before it. */
  readonly stopString?: string;
}

export interface BeginTurnOptions extends Pick<ReadTurnOptions, 'tools'> {
  /** Stop strings; the text ends before the first occurrence of any. */
  readonly stops: readonly string[];
  /**
   * True if the prompt is plain text instead of a rendered conversation. Reasoning is then not
   * parsed, and all special tokens are left out of the text.
   * @default false
   */
  readonly isPlain?: boolean;
}

/**
 * Converts conversations of one model to tokens and back. Has no state except for caches; share one
 * format per model.
 */
export interface ChatFormat {
  readonly tokenizer: Tokenizer;
  /**
   * Ids of the tokens that end a turn: first the special token that the template prints after an
   * assistant message, if there is one, then the tokenizer's end tokens and the stop tokens of the
   * tool-call parser.
   */
  readonly stopTokenIds: readonly number[];
  /** False if the chat template ignores tools; requests with tools are then refused. */
  readonly printsTools: boolean;
  /**
   * Returns the name of the tool-call parser that fits the model, as `auto` chooses it; undefined if
   * neither the template nor the vocabulary reveals the call syntax.
   */
  fittingToolCallParser(): string | undefined;
  /**
   * Role of the message to which instructions are added: `user` if the template prints no system
   * message.
   */
  readonly instructionRole: InstructionRole;
  /**
   * Renders the prompt as text, up to the position where the model begins to write. If a
   * conversation ends with an assistant message without tool calls, the model continues that
   * message.
   * @throws ModelError 400 when the template rejects the messages
   */
  render(input: PromptInput): string;
  /**
   * Renders a whole conversation as text, including the end of its last message, for supervised
   * data.
   * @throws ModelError as {@link render}
   */
  renderWhole(input: PromptInput): string;
  /**
   * Returns the token ids of a rendered prompt or conversation. Equal strings share one array,
   * which callers must not modify.
   */
  encode(text: string): Int32Array;
  readTurn(tokens: Int32Array, options: ReadTurnOptions): ParsedTurn;
  /**
   * Starts reading a turn while it is sampled. When the turn is complete, use {@link readTurn}.
   * @param promptIds prompt of the turn
   */
  beginTurn(promptIds: Int32Array, options: BeginTurnOptions): TurnReader;
  /** Returns the id of a tool call, in a format that the chat template accepts. */
  toolCallId(place: CallPlace): string;
  /**
   * Returns a grammar that restricts the response to `promptIds` to responses that satisfy the
   * constraint; undefined if every response satisfies it.
   * @throws ModelError 400 naming the unsupported part of a schema
   */
  constrain(constraint: ResponseConstraint, promptIds: Int32Array): TextGrammar | undefined;
}

/**
 * Options of the caches for texts. Texts are cached because the rollouts of a group use the same
 * prompts repeatedly. Texts longer than 20,000 characters are not cached: a few of them would fill
 * the memory.
 */
const cacheOptions = {
  max: 2048,
  maxEntrySize: 20_000,
  sizeCalculation: (_: unknown, key: string) => key.length + 1,
};

/**
 * Returns true if the messages are too long for caching, so that computing their key is not
 * worthwhile.
 */
const isLong = ({ messages }: PromptInput): boolean =>
  messages.reduce((sum, { content }) => sum + content.length, 0) > cacheOptions.maxEntrySize;

/**
 * Number of tokens at the end of a prompt that are searched for a reasoning marker. It suffices
 * even if the marker has one token per byte and white space follows.
 */
const endLength = 64;

interface ConstraintContext {
  readonly constraint: ResponseConstraint;
  readonly reasoning: WritingStyle['reasoning'];
}

/**
 * Creates the format of a model. Create it once and share it among all rollouts.
 * @throws ConfigError when there is no chat template, or a parser is unknown or cannot be detected
 */
export function createChatFormat(options: ChatFormatOptions): ChatFormat {
  const { tokenizer } = options;
  const templates = openTemplates(options);
  const fitting = detectToolCallParser(templates.tools, tokenizer);
  const parsers = openParsers(options, templates.tools, fitting);
  const hiddenIds = idsWithoutText(tokenizer, [
    ...(parsers.reasoning?.markers ?? []),
    ...(parsers.toolCalls?.markers ?? []),
  ]);
  for (const id of idsOf(tokenizer, parsers.toolCalls?.stops)) hiddenIds.add(id);
  const unused = fitting && options.toolPrompt === undefined ? toolCallParsers[fitting] : undefined;
  const unusedMarkers = new Set(idsOf(tokenizer, unused?.markers));
  const controlTokens = new Map(
    [...tokenizer.controlTokenIds].map((id) => [tokenizer.idToToken(id) ?? '', id]),
  );
  const endOf = (ids: Int32Array | undefined): PromptEnd =>
    ids && parsers.reasoning
      ? promptEnd(tokenizer.decode(ids.slice(-endLength)), parsers.reasoning.markers)
      : 'other';
  const hasTools = printsTools(templates.tools);
  const templateFor = ({ tools }: PromptInput): ChatTemplate => {
    if (!tools?.length) return templates.plain;
    if (!hasTools) throw toolsNotPrinted(tools.length);
    return templates.tools;
  };
  const texts = new LRUCache<string, string, PromptInput>({
    ...cacheOptions,
    memoMethod: (_key, _stale, { context }) => renderPrompt(templateFor(context), context),
  });
  const ids = new LRUCache<string, Int32Array>({
    ...cacheOptions,
    memoMethod: (text) => tokenizer.encode(text),
  });
  /** Grammars by constraint; false if every response satisfies the constraint. */
  const grammars = new LRUCache<string, TextGrammar | false, ConstraintContext>({
    max: 32,
    memoMethod: (_key, _stale, { context: { constraint, reasoning } }) =>
      responseGrammar(constraint, {
        reasoning,
        thinkMarkers: parsers.reasoning?.markers,
        call: parsers.toolCalls?.syntax,
        controlTokens,
      }) ?? false,
  });
  return {
    tokenizer,
    stopTokenIds: stopIds(tokenizer, templates.plain, parsers.toolCalls?.stops),
    printsTools: hasTools,
    fittingToolCallParser: () => fitting,
    instructionRole: instructionRole(templates.plain),
    render: (input) =>
      isLong(input)
        ? renderPrompt(templateFor(input), input)
        : texts.memo(promptKey(input), { context: input }),
    renderWhole: (input) => templateFor(input).render({ ...input, addGenerationPrompt: false }),
    encode: (text) => ids.memo(text),
    readTurn: (tokens, { tools, stopString, promptIds }) => {
      const end = endOf(promptIds);
      const read = (own: Parsers, skip: ReadonlySet<number>): ParsedTurn =>
        parseTurn(
          textBeforeStop(tokenizer, tokens, { skip, stopString }),
          forTurn(own, end, tools),
        );
      const turn = read(parsers, hiddenIds);
      const names = typeof tools === 'boolean' ? [] : tools.map((tool) => tool.function.name);
      if (unused === undefined || unused === parsers.toolCalls) return turn;
      if (turn.toolCalls.length + turn.malformedToolCalls > 0) return turn;
      if (!names.some((name) => turn.text.includes(name))) return turn;
      const other = read({ ...parsers, toolCalls: unused }, hiddenIds.difference(unusedMarkers));
      const unreadToolCalls = other.toolCalls.filter(({ name }) => names.includes(name)).length;
      return unreadToolCalls > 0 ? { ...turn, unreadToolCalls } : turn;
    },
    beginTurn: (promptIds, { tools, stops, isPlain = false }) => {
      const { reasoning, toolCalls } = forTurn(parsers, endOf(promptIds), tools);
      return createTurnReader({
        tokenBytes: tokenByteTable(tokenizer),
        hidden: isPlain ? tokenizer.specialTokenIds : hiddenIds,
        reasoning: isPlain ? undefined : reasoning,
        toolCalls,
        stops,
      });
    },
    toolCallId: (place) => toolCallId(place, parsers.toolCalls?.callIds),
    constrain: (constraint, promptIds) => {
      const end = endOf(promptIds);
      const mayReason = end === 'open' || parsers.reasoning?.isOpen ? 'open' : 'may';
      const reasoning = parsers.reasoning && end !== 'closed' ? mayReason : 'none';
      const key = JSON.stringify([reasoning, constraint]);
      return grammars.memo(key, { context: { reasoning, constraint } }) || undefined;
    },
  };
}

const toolsNotPrinted = (count: number): ModelError =>
  new ModelError(
    `The chat template has no place for tools, so the model would not see the ${count} of this request. Set explorer.rollout_model.tool_prompt: generic, or model.chat_template_path to a template with tools.`,
    { status: 400, code: 'chat_template_without_tools' },
  );

function openTemplates(options: ChatFormatOptions): {
  readonly plain: ChatTemplate;
  readonly tools: ChatTemplate;
} {
  const { tokenizer, chatTemplate, toolPrompt, enableThinking, templateArgs } = options;
  const { default: own, tool_use: forTools } = tokenizer.chatTemplates;
  const source = chatTemplate ?? own;
  if (source === undefined) {
    throw new ConfigError(
      'The model has no chat template. Put a chat_template.jinja into its folder, or name its template: with model.chat_template_path in the configuration of a run, or with chat: { chat_template } in the options of loadModel.',
      { code: 'CHAT_TEMPLATE_MISSING' },
    );
  }
  const variables = {
    ...tokenizer.specialTokens,
    ...(enableThinking !== undefined && { enable_thinking: enableThinking }),
    ...templateArgs,
  };
  const plain = createChatTemplate(source, variables);
  if (toolPrompt !== undefined) {
    const generic = withToolsInMessages(plain);
    return { plain: generic, tools: generic };
  }
  const separate = chatTemplate === undefined && forTools !== undefined;
  return { plain, tools: separate ? createChatTemplate(forTools, variables) : plain };
}

interface Parsers {
  readonly reasoning: ReasoningParser | undefined;
  readonly toolCalls: ToolCallParser | undefined;
}

function openParsers(
  options: ChatFormatOptions,
  template: ChatTemplate,
  fittingToolCallParser: string | undefined,
): Parsers {
  const { toolPrompt, reasoningParser, detectToolCalls = false } = options;
  const { toolCallParser = detectToolCalls ? 'auto' : undefined } = options;
  const reasoning = reasoningParser === 'auto' ? detectReasoningParser(template) : reasoningParser;
  const forCalls = toolCallParser === 'auto' ? fittingToolCallParser : toolCallParser;
  if (options.toolCallParser === 'auto' && forCalls === undefined && toolPrompt === undefined)
    throw new ConfigError(
      `tool_call_parser is "auto", but the chat template does not show in which syntax the model calls tools. Set one of: ${Object.keys(toolCallParsers).join(', ')}.`,
      { code: 'PARSER_NOT_DETECTED' },
    );
  return {
    reasoning: lookUp(reasoningParsers, reasoning, 'reasoning_parser'),
    toolCalls: lookUp(
      toolCallParsers,
      toolPrompt === undefined ? forCalls : 'hermes',
      'tool_call_parser',
    ),
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
      `${key} is "${name}", which is unknown. Expected one of: ${Object.keys(table).join(', ')}.`,
      { code: 'PARSER_UNKNOWN' },
    );
  }
  return table[name];
}

/** Chooses the parsers for one turn. Calls are not parsed if `tools` is false. */
function forTurn(parsers: Parsers, end: PromptEnd, tools: ReadTurnOptions['tools']): Parsers {
  const { reasoning, toolCalls } = parsers;
  const definitions = typeof tools === 'boolean' ? undefined : tools;
  return {
    reasoning: reasoning && { ...reasoning, parse: (text) => reasoning.parse(text, end) },
    toolCalls:
      tools === false || !toolCalls
        ? undefined
        : {
            ...toolCalls,
            parse: (text, options) => toolCalls.parse(text, { ...options, tools: definitions }),
          },
  };
}

function parseTurn(whole: string, parsers: Parsers): ParsedTurn {
  const { reasoning, text } = parsers.reasoning?.parse(whole) ?? { text: whole };
  const parsed = parsers.toolCalls?.parse(text);
  return {
    text: parsed?.text ?? text,
    reasoning,
    toolCalls: parsed?.toolCalls ?? [],
    malformedToolCalls: parsed?.malformed ?? 0,
  };
}

/**
 * Returns the ids of tokens that end a turn: the first special token that the template prints after
 * an assistant message, then the tokenizer's end tokens, and the tokens in `others`.
 */
function stopIds(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  others: readonly string[] = [],
): readonly number[] {
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: marker },
  ] as const;
  const text = attempt(() => template.render({ messages, addGenerationPrompt: false })) ?? '';
  const closing = text.slice(text.lastIndexOf(marker) + marker.length);
  const closer = tokenizer.encode(closing).find((id) => tokenizer.specialTokenIds.has(id));
  const found = closer === undefined ? [] : [closer];
  return [...new Set([...found, ...tokenizer.eosTokenIds, ...idsOf(tokenizer, others)])];
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Returns the ids of the special tokens, except the tokens in `visible`. */
function idsWithoutText(tokenizer: Tokenizer, visible: readonly string[]): Set<number> {
  const kept = new Set(idsOf(tokenizer, visible));
  return new Set([...tokenizer.specialTokenIds].filter((id) => !kept.has(id)));
}

/** Returns the ids of `tokens`, without tokens that are not in the vocabulary. */
const idsOf = (tokenizer: Tokenizer, tokens: readonly string[] = []): readonly number[] =>
  tokens.map((token) => tokenizer.tokenToId(token)).filter((id) => id !== undefined);
