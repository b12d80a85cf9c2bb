/**
 * The syntax of Llama 3: JSON objects without tags, `{"name": ..., "parameters": {...}}`, several
 * with `;` or line breaks between them.
 */
import { readJsonCall } from './json-call.js';
import type { ParsedToolCall, ToolCallParser } from './types.js';

const tag = '<|python_tag|>';

/** Objects without name or arguments are text. */
export const llama3Json: ToolCallParser = {
  markers: [tag],
  unmarked: /^\s*;|\{/,
  syntax: {
    before: (name) => `{"name": ${JSON.stringify(name)}, "parameters": `,
    after: '}',
    between: '; ',
  },
  parse: (text) => {
    const kept: string[] = [];
    const toolCalls: ParsedToolCall[] = [];
    let from = 0;
    for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at)) {
      const found = readJsonCall(text, at);
      if (found && /"(?:arguments|parameters)"/.test(text.slice(at, found.end))) {
        toolCalls.push(found.call);
        kept.push(text.slice(from, at));
        from = at = found.end;
      } else at++;
    }
    if (toolCalls.length === 0)
      return { text, toolCalls, malformed: Number(/^\s*(?:<\|python_tag\|>|\{"name")/.test(text)) };
    kept.push(text.slice(from));
    return { text: kept.map(outside).join('').trimEnd(), toolCalls, malformed: 0 };
  },
};

/** Text beside calls, without what belongs to the syntax. */
const outside = (text: string): string => text.replaceAll(tag, '').replace(/^\s*;?\s*$/, '');
