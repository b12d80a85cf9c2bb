/**
 * The syntax of Llama 3: JSON objects without tags, `{"name": ..., "parameters": {...}}`, separated
 * by `;` or line breaks.
 */
import { readJsonCall } from './json-call.js';
import { scanCalls, type Attempt } from './scan-calls.js';
import type { ToolCallParser } from './types.js';

const tag = '<|python_tag|>';

/**
 * Parser for Llama 3. A JSON object without a name or arguments is no call and stays in the text.
 * It is counted as a malformed call if its first key is `name`, or if the text begins with
 * `<|python_tag|>` and has no calls.
 */
export const llama3Json: ToolCallParser = {
  markers: [tag],
  unmarked: /^\s*;|\{/,
  syntax: {
    before: (name) => `{"name": ${JSON.stringify(name)}, "parameters": `,
    after: '}',
    between: '; ',
  },
  parse: (text) => {
    const { pieces, toolCalls, malformed } = scanCalls(text, {
      find: (from) => text.indexOf('{', from),
      read: objectReader(text),
    });
    if (toolCalls.length > 0)
      return { text: pieces.map(outside).join('').trimEnd(), toolCalls, malformed };
    const isTagged = text.trimStart().startsWith(tag);
    return { text, toolCalls, malformed: Math.max(malformed, Number(isTagged)) };
  },
};

function objectReader(text: string): (at: number) => Attempt {
  /**
   * Start indices of incomplete objects that are nested in an incomplete object that was read
   * before, so that they need not be read again.
   */
  const known = new Set<number>();
  return (at) => {
    if (known.has(at)) return { end: at + 1 };
    const { kind, call, at: end, open } = readJsonCall(text, at);
    if (call) return { toolCalls: [call], end };
    for (const each of open) known.add(each);
    return { malformed: hasName(text, at) ? 1 : 0, end: kind === 'ended' ? end : at + 1 };
  };
}

function hasName(text: string, at: number): boolean {
  const begin = /\{\s*"name"\s*:/y;
  begin.lastIndex = at;
  return begin.test(text);
}

/** Returns a piece of text between calls, without characters that belong to the call syntax. */
function outside(piece: string): string {
  const text = piece.replaceAll(tag, '');
  return ['', ';'].includes(text.trim()) ? '' : text;
}
