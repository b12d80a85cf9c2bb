/**
 * Reads a turn while the model samples it. Returns the part of the turn that cannot change any more
 * when tokens are added, so that it can be sent to a client at once.
 */
import type { ReasoningParser } from '../reasoning-parser/types.js';
import type { ParsedToolCall, ToolCallParser } from '../tool-call-parser/types.js';

export interface PartialTurn {
  readonly text: string;
  readonly reasoning?: string;
  /** Tool calls whose text is complete. */
  readonly toolCalls: readonly ParsedToolCall[];
}

export interface TurnReader {
  /**
   * Adds tokens to the turn. Returns the part of the turn read so far, from its beginning, that
   * later tokens cannot change.
   */
  push(tokens: Iterable<number>): PartialTurn;
}

export interface TurnReaderOptions {
  readonly tokenBytes: readonly Uint8Array[];
  /** Ids of tokens that have no visible text. */
  readonly hidden: ReadonlySet<number>;
  readonly reasoning?: ReasoningParser;
  /** Parser for tool calls; absent if calls are not parsed. */
  readonly toolCalls?: ToolCallParser;
  /** Stop strings; the text ends before the first occurrence of any. */
  readonly stops: readonly string[];
}

export function createTurnReader(options: TurnReaderOptions): TurnReader {
  const { tokenBytes, hidden, stops } = options;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const readCalls = options.toolCalls && callReader(options.toolCalls);
  let text = '';
  return {
    push: (tokens) => {
      for (const token of tokens)
        if (!hidden.has(token))
          text += decoder.decode(tokenBytes[token] ?? new Uint8Array(0), { stream: true });
      const { reasoning, answer } = splitReasoning(upToStop(text, stops), options);
      if (!options.toolCalls) return { reasoning, text: answer, toolCalls: [] };
      const toolCalls = readCalls?.(answer) ?? [];
      return { reasoning, text: beforeCalls(answer, options.toolCalls), toolCalls };
    },
  };
}

/**
 * Returns the text before the first stop string. If there is none, removes an ending with which a
 * stop string may begin.
 */
function upToStop(text: string, stops: readonly string[]): string {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return found.length > 0 ? text.slice(0, Math.min(...found)) : withoutBeginningOf(text, stops);
}

/**
 * Removes the longest ending of the text that is also the beginning of a mark, because the next
 * tokens may complete the mark.
 */
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
  const [open, close] = parser.markers;
  if (whole.includes(close)) {
    const parsed = parser.parse(whole);
    return { reasoning: parsed.reasoning, answer: parsed.text };
  }
  const sure = withoutBeginningOf(whole, [close, parser.callMark ?? close]);
  if (open.startsWith(sure.trimStart())) return { answer: '' };
  const { reasoning, text, isCutByCall = false } = parser.parse(sure);
  if (reasoning && parser.heading?.startsWith(reasoning)) return { answer: '' };
  return { reasoning, answer: isCutByCall ? '' : text };
}

/**
 * Returns the text before the first call, without white space at its end, which belongs to the call
 * syntax. Text after the call is left out, because it may belong to the call syntax too.
 */
function beforeCalls(text: string, { markers, unmarked }: ToolCallParser): string {
  const marked = markers.map((mark) => text.indexOf(mark));
  const found = [...marked, unmarked ? text.search(unmarked) : -1].filter((at) => at >= 0);
  const before =
    found.length > 0 ? text.slice(0, Math.min(...found)) : withoutBeginningOf(text, markers);
  return before.trimEnd();
}

/** Returns a function that reads the complete calls in a growing text. */
function callReader({ close, parse }: ToolCallParser): (text: string) => readonly ParsedToolCall[] {
  const calls: ParsedToolCall[] = [];
  let [settled, seen, wait] = [0, 0, 0];
  return (text) => {
    if (close === undefined) return calls;
    const hasClose = text.includes(close, Math.max(0, seen - close.length));
    seen = text.length;
    // A closing tag inside an argument does not end the call. The next closing tag is tried only
    // after the text has grown by a tenth, so that the total time stays linear in the length.
    if (!hasClose || text.length - settled < wait) return calls;
    const found = parse(text.slice(settled), { isWhole: false });
    calls.push(...found.toolCalls);
    settled += found.settled ?? 0;
    wait = found.toolCalls.length > 0 ? 0 : 1.1 * (text.length - settled);
    return [...calls];
  };
}
