/**
 * The syntaxes of Mistral: `[TOOL_CALLS] [{"name": ..., "arguments": {...}}]`, and since tokenizer
 * version 11 `[TOOL_CALLS]name[ARGS]{...}` for each call.
 */
import { readJsonCall, type FoundCall } from './json-call.js';
import { skipSpace, valueEnd } from './json-span.js';
import type { ParsedToolCall, ToolCallParse, ToolCallParser } from './types.js';

const tag = '[TOOL_CALLS]';

/** Text before the calls stays; what follows a list of calls is dropped, as in vLLM. */
export const mistral: ToolCallParser = {
  markers: [tag, '[ARGS]', '[CALL_ID]'],
  callIds: 'nine letters or digits',
  syntax: {
    open: `${tag} [`,
    before: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    after: '}',
    between: ', ',
    close: ']',
  },
  parse: (text) => {
    const at = text.indexOf(tag);
    if (at < 0) return { text, toolCalls: [], malformed: 0 };
    const parts = text.slice(at + tag.length).split(tag);
    const calls = parts.map(readPart);
    const toolCalls = calls.flatMap((each) => each ?? []);
    const malformed = calls.filter((each) => each === undefined).length;
    return toolCalls.length === 0
      ? { text, toolCalls, malformed }
      : ({ text: text.slice(0, at).trimEnd(), toolCalls, malformed } satisfies ToolCallParse);
  },
};

/** The calls after one tag; undefined when there are none. */
function readPart(text: string): readonly ParsedToolCall[] | undefined {
  const start = skipSpace(text, 0);
  if (text[start] === '[' || text[start] === '{') return readList(text, start);
  const named = readNamed(text);
  return named && [named];
}

function readList(text: string, start: number): readonly ParsedToolCall[] | undefined {
  const calls: ParsedToolCall[] = [];
  let at = text[start] === '[' ? skipSpace(text, start + 1) : start;
  for (let found: FoundCall | undefined; (found = readJsonCall(text, at));) {
    calls.push(found.call);
    at = skipSpace(text, found.end);
    if (text[at] !== ',') break;
    at = skipSpace(text, at + 1);
  }
  const ended = text[start] === '{' || text[at] === ']' || at >= text.length;
  return calls.length > 0 && ended ? calls : undefined;
}

function readNamed(text: string): ParsedToolCall | undefined {
  const at = text.indexOf('{');
  const end = at < 0 ? -1 : valueEnd(text, at);
  const name = text.slice(0, at).replace('[ARGS]', '').split('[CALL_ID]')[0]?.trim();
  if (end < 0 || !name || !isJson(text.slice(at, end))) return undefined;
  return { name, arguments: text.slice(at, end) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
