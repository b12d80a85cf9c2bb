/**
 * The syntaxes of Mistral: `[TOOL_CALLS] [{"name": ..., "arguments": {...}}]`, and, from tokenizer
 * version 11 on, `[TOOL_CALLS]name[ARGS]{...}` for each call.
 */
import { readArguments, readJsonCalls } from './json-call.js';
import { scanJson } from './json-scan.js';
import { skipSpace } from './json-span.js';
import { scanCalls, type Attempt } from './scan-calls.js';
import type { ToolCallParser } from './types.js';

const tag = '[TOOL_CALLS]';

/**
 * Parser for Mistral. It keeps the text before the calls and drops the text after them, as vLLM
 * does.
 */
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
    const { toolCalls, malformed } = scanCalls(text, {
      find: (from) => text.indexOf(tag, from),
      read: (at) => readPart(text, at + tag.length),
    });
    const before = text.slice(0, text.indexOf(tag)).trimEnd();
    return { text: toolCalls.length === 0 ? text : before, toolCalls, malformed };
  },
};

/** Reads the calls after one `[TOOL_CALLS]` tag. */
function readPart(text: string, from: number): Attempt {
  const start = skipSpace(text, from);
  return text[start] === '[' || text[start] === '{'
    ? readJsonCalls(text, start)
    : readNamed(text, start);
}

function readNamed(text: string, start: number): Attempt {
  const header = /([^\s[{]+)\s*(?:\[CALL_ID\][^[{]*)?(\[ARGS\]\s*)?/y;
  header.lastIndex = start;
  const [, name = '', tagged] = header.exec(text) ?? [];
  const at = Math.max(start, header.lastIndex);
  if (name === '' || (tagged === undefined && text[at] !== '{')) return { malformed: 1, end: at };
  const { kind, at: end } = scanJson(text, at);
  const args = kind === 'ended' ? readArguments(text.slice(at, end)) : undefined;
  if (args === undefined) return { malformed: 1, end: kind === 'invalid' ? at : end };
  return { toolCalls: [{ name, arguments: args }], end };
}
