/**
 * The syntax of Llama 3: JSON objects without tags, `{"name": ..., "parameters": {...}}`, separated
 * by `;` or line breaks.
 */
import { readJsonCall } from './json-call.js';
import { scanCalls, type Attempt } from './scan-calls.js';
import type { ToolCallParser } from './types.js';

const tag = '<|python_tag|>';

/**
 * Parser that leaves a JSON object in the text if its name or its arguments are missing. If such an
 * object begins with a name or follows the tag, it is a malformed call instead.
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
  /** Start indices of objects that do not end, found when an object around them was read. */
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

/** Text outside of calls, without characters that belong to the syntax. */
function outside(piece: string): string {
  const text = piece.replaceAll(tag, '');
  return ['', ';'].includes(text.trim()) ? '' : text;
}
