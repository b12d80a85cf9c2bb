/** Chooses the parsers of a model by what its chat template prints, and by its vocabulary. */
import type { ToolDefinition } from '@trinity-rft/core';
import type { NormalMessage } from '../messages/messages.js';
import type { reasoningParsers } from '../reasoning-parser/table.js';
import type { ChatTemplate } from '../template/template.js';
import type { Tokenizer } from '../tokenizer/types.js';
import { toolCallParsers } from '../tool-call-parser/table.js';

type ToolCallParserName = keyof typeof toolCallParsers;

/**
 * Strings in the source of chat templates that describe a call syntax to the model, each with the
 * parser for this syntax. They are checked first, because such templates may print earlier calls in
 * another syntax.
 */
const described: readonly (readonly [string, ToolCallParserName])[] = [
  ['functools[', 'phi4_mini_json'],
  ['{"name": function name, "parameters"', 'llama3_json'],
];

/**
 * Parsers whose syntaxes no other parser reads: a parser in this list is chosen if it reads a call
 * that the template prints.
 */
const distinct = ['functiongemma', 'gemma4', 'lfm2', 'hermes', 'qwen3_coder', 'mistral'] as const;

/**
 * Tokens that identify a parser: only models that need the parser have all of these tokens in their
 * vocabulary.
 */
const byTokens: readonly (readonly [readonly string[], ToolCallParserName])[] = [
  [['<start_function_call>'], 'functiongemma'],
  [['<|tool_call_start|>', '<|tool_call_end|>'], 'lfm2'],
  [['<|tool_call|>', '<|/tool_call|>'], 'phi4_mini_json'],
  [['<|python_start|>', '<|python_end|>'], 'pythonic'],
];

/**
 * Returns the name of the tool-call parser that fits a model; undefined if neither the template nor
 * the vocabulary reveals the call syntax.
 */
export function detectToolCallParser(
  template: ChatTemplate,
  tokenizer: Tokenizer,
): ToolCallParserName | undefined {
  const found = described.find(([sentence]) => template.source.includes(sentence));
  if (found) return found[1];
  const printed = printedCall(template);
  const reading = distinct.find((name) => readsProbe(name, printed));
  if (reading) return reading;
  const hasAll = (tokens: readonly string[]): boolean =>
    tokens.every((token) => tokenizer.tokenToId(token) !== undefined);
  return byTokens.find(([tokens]) => hasAll(tokens))?.[1];
}

const probe = { name: 'probe_call', arguments: '{"key": "probe value"}' };

const probeTool: ToolDefinition = {
  type: 'function',
  function: {
    name: probe.name,
    description: 'A probe.',
    parameters: { type: 'object', properties: { key: { type: 'string', description: 'A key.' } } },
  },
};

/**
 * Renders a conversation with a tool call. Returns an empty string if the template rejects the
 * conversation.
 */
function printedCall(template: ChatTemplate): string {
  const messages: readonly NormalMessage[] = [
    { role: 'user', content: 'x' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'probe0000', type: 'function', function: probe }],
    },
  ];
  try {
    return template.render({ messages, tools: [probeTool], addGenerationPrompt: false });
  } catch {
    return '';
  }
}

function readsProbe(name: ToolCallParserName, printed: string): boolean {
  const { markers, parse } = toolCallParsers[name];
  // If its first marker is not printed, a parser might read the inner part of another syntax.
  if (!printed.includes(markers[0] ?? '')) return false;
  const sameSpaces = (args: string): string => args.replace(/"key": ?/, '"key": ');
  return parse(printed, { tools: [probeTool] }).toolCalls.some(
    (call) => call.name === probe.name && sameSpaces(call.arguments) === probe.arguments,
  );
}

/**
 * Returns the name of the reasoning parser that fits a template; undefined if the template contains
 * no known reasoning marker.
 */
export function detectReasoningParser({
  source,
}: ChatTemplate): keyof typeof reasoningParsers | undefined {
  if (source.includes('<|channel>')) return 'gemma4';
  if (source.includes('[THINK]')) return 'mistral';
  return source.includes('</think>') ? 'qwen3' : undefined;
}
