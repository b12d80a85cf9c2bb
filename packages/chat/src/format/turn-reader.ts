/**
 * Reads a turn while it is being sampled: what is certain of it, whatever follows. Later tokens only
 * add to what was certain before, so it can be sent to a client at once.
 */
import type { ReasoningParser } from '../reasoning-parser/types.js';
import type { ParsedToolCall, ToolCallParser } from '../tool-call-parser/types.js';

export interface PartialTurn {
  readonly text: string;
  readonly reasoning?: string;
  /** Complete ones. */
  readonly toolCalls: readonly ParsedToolCall[];
}

export interface TurnReader {
  /** Adds tokens; returns the whole turn so far, as far as it is certain. */
  push(tokens: Iterable<number>): PartialTurn;
}

export interface TurnReaderOptions {
  readonly tokenBytes: readonly Uint8Array[];
  /** Tokens without text. */
  readonly hidden: ReadonlySet<number>;
  readonly reasoning?: ReasoningParser;
  /** Absent where no calls are looked for. */
  readonly toolCalls?: ToolCallParser;
  /** The text ends before the first of them. */
  readonly stops: readonly string[];
}

export function createTurnReader(options: TurnReaderOptions): TurnReader {
  const { tokenBytes, hidden, stops } = options;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  let calls: readonly ParsedToolCall[] = [];
  return {
    push: (tokens) => {
      for (const token of tokens)
        if (!hidden.has(token))
          text += decoder.decode(tokenBytes[token] ?? new Uint8Array(0), { stream: true });
      const { reasoning, answer } = splitReasoning(upToStop(text, stops), options);
      if (!options.toolCalls) return { reasoning, text: answer, toolCalls: [] };
      calls = completeCalls(answer, options.toolCalls) ?? calls;
      return { reasoning, text: beforeCalls(answer, options.toolCalls), toolCalls: calls };
    },
  };
}

/** Without a stop string, and without an ending that may become one. */
function upToStop(text: string, stops: readonly string[]): string {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return found.length > 0 ? text.slice(0, Math.min(...found)) : withoutBeginningOf(text, stops);
}

/** Without the longest ending that is the beginning of one of the marks. */
function withoutBeginningOf(text: string, marks: readonly string[]): string {
  const longest = Math.max(0, ...marks.map((mark) => mark.length - 1));
  for (let from = Math.max(0, text.length - longest); from < text.length; from++)
    if (marks.some((mark) => mark.startsWith(text.slice(from)))) return text.slice(0, from);
  return text;
}

interface Split {
  readonly reasoning?: string;
  readonly answer: string;
}

function splitReasoning(whole: string, { reasoning: parser }: TurnReaderOptions): Split {
  if (!parser) return { answer: whole };
  const [open = '', close = ''] = parser.markers;
  if (whole.includes(close)) {
    const parsed = parser.parse(whole);
    return { reasoning: parsed.reasoning, answer: parsed.text };
  }
  const sure = withoutBeginningOf(whole, [close]);
  if (open.startsWith(sure.trimStart())) return { answer: '' };
  const parsed = parser.parse(sure);
  return parsed.reasoning === undefined
    ? { answer: sure.trimStart().startsWith(open) ? '' : sure }
    : { reasoning: parsed.reasoning, answer: '' };
}

/** White space before a call belongs to the syntax, and so may any text after the first one. */
function beforeCalls(text: string, { markers, unmarked }: ToolCallParser): string {
  const marked = markers.map((mark) => text.indexOf(mark));
  const found = [...marked, unmarked ? text.search(unmarked) : -1].filter((at) => at >= 0);
  const before =
    found.length > 0 ? text.slice(0, Math.min(...found)) : withoutBeginningOf(text, markers);
  return before.trimEnd();
}

/** The calls of a text that ends with one; undefined for any other text. */
function completeCalls(
  text: string,
  { markers: [, close], parse }: ToolCallParser,
): readonly ParsedToolCall[] | undefined {
  return close !== undefined && text.trimEnd().endsWith(close) ? parse(text).toolCalls : undefined;
}
