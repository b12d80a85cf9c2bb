/**
 * The Hermes syntax, which Qwen 2.5 and 3 use too:
 * `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.
 */
import { readJsonCall, type FoundCall } from './json-call.js';
import { skipSpace } from './json-span.js';
import type { ParsedToolCall, ToolCallParser } from './types.js';

const open = '<tool_call>';
const close = '</tool_call>';

/**
 * A call is an object with a `name` and an `arguments` or `parameters` object (absent means `{}`); the closing tag
 * may be missing at the end of the text, where models often stop. One line break before a call and
 * white space between calls belong to the syntax. Everything else stays in the text.
 */
export const hermes: ToolCallParser = {
  markers: [open, close],
  syntax: {
    before: (name) => `${open}\n{"name": ${JSON.stringify(name)}, "arguments": `,
    after: `}\n${close}`,
    between: '\n',
  },
  parse: (text) => {
    const kept: string[] = [];
    const toolCalls: ParsedToolCall[] = [];
    let malformed = 0;
    let from = 0;
    for (let at = text.indexOf(open); at >= 0; at = text.indexOf(open, at)) {
      const found = readCall(text, at + open.length);
      if (found) {
        toolCalls.push(found.call);
        kept.push(text.slice(from, at).replace(/\n$/, ''));
        from = at = found.end;
      } else {
        malformed++;
        at += open.length;
      }
    }
    if (toolCalls.length === 0) return { text, toolCalls, malformed };
    kept.push(text.slice(from));
    return { text: kept.filter((part) => part.trim() !== '').join(''), toolCalls, malformed };
  },
};

function readCall(text: string, at: number): FoundCall | undefined {
  const found = readJsonCall(text, skipSpace(text, at));
  if (!found) return undefined;
  const after = skipSpace(text, found.end);
  if (text.startsWith(close, after)) return { ...found, end: after + close.length };
  return after === text.length ? { ...found, end: after } : undefined;
}
