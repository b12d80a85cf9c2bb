/**
 * The Hermes syntax, which Qwen 2.5 and 3 also use: `<tool_call>{"name": ..., "arguments":
 * {...}}</tool_call>`.
 */
import { readJsonCall } from './json-call.js';
import { skipSpace } from './json-span.js';
import { isCut, scanCalls, type Attempt } from './scan-calls.js';
import type { ToolCallParser } from './types.js';

const open = '<tool_call>';
const close = '</tool_call>';

/**
 * Parser for calls that are objects with a `name`, and `arguments` or `parameters` (default `{}`).
 * The closing tag may be missing at the end of the response, because models often stop there. A
 * line break before a call and white space between calls belong to the syntax. Everything else
 * stays in the text.
 */
export const hermes: ToolCallParser = {
  markers: [open, close],
  close,
  syntax: {
    before: (name) => `${open}\n{"name": ${JSON.stringify(name)}, "arguments": `,
    after: `}\n${close}`,
    between: '\n',
  },
  parse: (text, { isWhole = true } = {}) => {
    const { pieces, toolCalls, ...rest } = scanCalls(text, {
      isWhole,
      find: (from) => text.indexOf(open, from),
      read: (at) => readCall(text, at, isWhole),
    });
    if (toolCalls.length === 0) return { text, toolCalls, ...rest };
    const last = pieces.length - 1;
    const kept = pieces
      .map((piece, i) => (i < last && piece.endsWith('\n') ? piece.slice(0, -1) : piece))
      .filter((piece) => piece.trim() !== '');
    return { text: kept.join(''), toolCalls, ...rest };
  },
};

function readCall(text: string, at: number, isWhole: boolean): Attempt | undefined {
  const { kind, call, at: end } = readJsonCall(text, skipSpace(text, at + open.length), '{}');
  if (kind === 'cut') return isWhole ? { malformed: 1, end } : undefined;
  if (kind === 'invalid') return { malformed: 1, end: at + open.length };
  const after = skipSpace(text, end);
  const isClosed = text.startsWith(close, after);
  if (!isWhole && !isClosed && isCut(text, after, close)) return undefined;
  if (!call || (!isClosed && after < text.length)) return { malformed: 1, end };
  return { toolCalls: [call], end: isClosed ? after + close.length : after };
}
