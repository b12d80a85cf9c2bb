/**
 * The Hermes syntax, which Qwen 2.5 and 3 use too:
 * `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.
 */
import { memberSpans, skipSpace, valueEnd } from './json-span.js';
import type { ParsedToolCall, ToolCallParser } from './types.js';

const open = '<tool_call>';
const close = '</tool_call>';

/**
 * A call is an object with a `name` and an `arguments` object (absent means `{}`); the closing tag
 * may be missing at the end of the text, where models often stop. One line break before a call and
 * white space between calls belong to the syntax. Everything else stays in the text.
 */
export const hermes: ToolCallParser = {
  markers: [open, close],
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

function readCall(
  text: string,
  at: number,
): { readonly call: ParsedToolCall; readonly end: number } | undefined {
  const start = skipSpace(text, at);
  const end = text[start] === '{' ? valueEnd(text, start) : -1;
  const call = end < 0 ? undefined : toCall(text, start, end);
  if (!call) return undefined;
  const after = skipSpace(text, end);
  if (text.startsWith(close, after)) return { call, end: after + close.length };
  return after === text.length ? { call, end: after } : undefined;
}

function toCall(text: string, start: number, end: number): ParsedToolCall | undefined {
  const value = parse(text.slice(start, end));
  if (typeof value?.name !== 'string' || value.name === '') return undefined;
  const span = memberSpans(text, start).get('arguments');
  if (!span) return { name: value.name, arguments: '{}' };
  return text[span[0]] === '{' ? { name: value.name, arguments: text.slice(...span) } : undefined;
}

function parse(text: string): { readonly name?: unknown } | undefined {
  try {
    return JSON.parse(text) as { readonly name?: unknown };
  } catch {
    return undefined;
  }
}
