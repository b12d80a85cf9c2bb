/**
 * The syntaxes of Phi-4-mini: `functools[{"name": ..., "arguments": {...}}]`, which vLLM's template
 * requests, and `<|tool_call|>[...]<|/tool_call|>`.
 */
import { readJsonCalls } from './json-call.js';
import { skipSpace } from './json-span.js';
import { scanCalls, textOutside, type Attempt } from './scan-calls.js';
import type { ToolCallParser } from './types.js';

const open = '<|tool_call|>';
const close = '<|/tool_call|>';

export const phi4MiniJson: ToolCallParser = {
  markers: ['functools[', open, close],
  syntax: {
    open: 'functools[',
    before: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    after: '}',
    between: ', ',
    close: ']',
  },
  parse: (text) => {
    const begin = /functools(?=\[\s*\{)|<\|tool_call\|>/g;
    const { pieces, toolCalls, ...rest } = scanCalls(text, {
      find: (from) => {
        begin.lastIndex = from;
        return begin.exec(text)?.index ?? -1;
      },
      read: (at) => readList(text, at),
    });
    return { text: toolCalls.length === 0 ? text : textOutside(pieces), toolCalls, ...rest };
  },
};

function readList(text: string, start: number): Attempt {
  const mark = text.startsWith(open, start) ? open : 'functools';
  const at = skipSpace(text, start + mark.length);
  if (text[at] !== '[' && text[at] !== '{') return { malformed: 1, end: at };
  const { toolCalls, malformed, end } = readJsonCalls(text, at);
  if (!toolCalls) return { malformed, end };
  const after = skipSpace(text, end);
  return { toolCalls, end: text.startsWith(close, after) ? after + close.length : end };
}
