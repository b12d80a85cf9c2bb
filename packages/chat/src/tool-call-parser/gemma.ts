/**
 * The syntaxes of Gemma: `<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>` of
 * FunctionGemma, and `<|tool_call>call:f{a:<|"|>x<|"|>}<tool_call|>` of Gemma 4.
 */
import type { ToolDefinition } from '@trinity-rft/core';
import { readCallOf } from './argument-json.js';
import { readGemmaArguments } from './gemma-arguments.js';
import { skipSpace } from './json-span.js';
import { isCut, scanCalls, textOutside, type Attempt } from './scan-calls.js';
import { propertiesOf, typesOf } from './schema-types.js';
import type { ToolCallParser } from './types.js';

interface Marks {
  readonly open: string;
  readonly close: string;
  /** Quote mark before and after a string. */
  readonly quote: string;
  /** Token that begins the result of a tool call. */
  readonly response: string;
}

/**
 * Creates a parser. The closing mark may be missing at the end of the response. If there are calls,
 * white space around the other text is removed, because it belongs to the call syntax.
 */
const gemmaParser = (marks: Marks): ToolCallParser => ({
  markers: [marks.open, marks.close, marks.quote],
  close: marks.close,
  stops: [marks.response],
  parse: (text, { tools = [], isWhole = true } = {}) => {
    const { pieces, toolCalls, ...rest } = scanCalls(text, {
      isWhole,
      find: (from) => text.indexOf(marks.open, from),
      read: (at) => readCall(text, at, { marks, tools, isWhole }),
    });
    return { text: toolCalls.length === 0 ? text : textOutside(pieces), toolCalls, ...rest };
  },
});

interface Reading {
  readonly marks: Marks;
  readonly tools: readonly ToolDefinition[];
  readonly isWhole: boolean;
}

function readCall(text: string, start: number, reading: Reading): Attempt | undefined {
  const { marks, tools, isWhole } = reading;
  const from = start + marks.open.length;
  const head = /[^{<]*/y;
  head.lastIndex = from;
  const title = head.exec(text)?.[0] ?? '';
  const begin = from + title.length;
  if (!isWhole && begin === text.length) return undefined;
  // Gemma 4 sometimes omits the word `call`.
  const name = /^\s*(?:call)?:\s*([^\s{}]+)\s*$/.exec(title)?.[1];
  if (name === undefined || text[begin] !== '{') return { malformed: 1, end: begin };
  const schema = tools.find((tool) => tool.function.name === name)?.function.parameters ?? {};
  const properties = propertiesOf(schema, schema);
  const { kind, at, args } = readGemmaArguments(text, begin, marks.quote, (key) =>
    typesOf(properties.get(key) ?? [], schema),
  );
  if (kind === 'cut') return isWhole ? { malformed: 1, end: at } : undefined;
  if (kind === 'invalid') return { malformed: 1, end: from };
  const after = skipSpace(text, at);
  const isClosed = text.startsWith(marks.close, after);
  if (!isWhole && !isClosed && isCut(text, after, marks.close)) return undefined;
  if (!isClosed && after < text.length) return { malformed: 1, end: at };
  return readCallOf(name, args, isClosed ? after + marks.close.length : after);
}

export const functionGemma = gemmaParser({
  open: '<start_function_call>',
  close: '<end_function_call>',
  quote: '<escape>',
  response: '<start_function_response>',
});

export const gemma4 = gemmaParser({
  open: '<|tool_call>',
  close: '<tool_call|>',
  quote: '<|"|>',
  response: '<|tool_response>',
});
