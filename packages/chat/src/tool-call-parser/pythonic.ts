/**
 * Tool calls as a Python list: `[f(a=1, b='x'), g()]`, as Llama 3.2, Llama 4 and ToolACE write
 * them.
 */
import type { Value } from '../jinja/values.js';
import { jsonOf } from './argument-json.js';
import { PythonReader } from './python-literal.js';
import type { ParsedToolCall, ToolCallParser } from './types.js';

const start = '<|python_start|>';
const end = '<|python_end|>';

/**
 * Parser for text that consists of nothing but a list of calls, with or without Llama 4's tags;
 * other text has no calls. Arguments are keyword arguments, and their values are literals.
 */
export const pythonic: ToolCallParser = {
  markers: [start, end],
  unmarked: /^\s*\[/,
  parse: (text) => {
    const body = text.trim();
    const isTagged = body.startsWith(start);
    const list = body.slice(
      isTagged ? start.length : 0,
      body.endsWith(end) ? -end.length : undefined,
    );
    if (!isTagged && !/^\s*\[\s*[\p{L}\p{N}_][\p{L}\p{N}_.-]*\s*\(/u.test(list))
      return { text, toolCalls: [], malformed: 0 };
    try {
      const reader = new PythonReader(list);
      const toolCalls = readPythonCalls(reader);
      if (!reader.done) throw new SyntaxError('text follows the calls');
      return { text: '', toolCalls, malformed: 0 };
    } catch {
      return { text, toolCalls: [], malformed: 1 };
    }
  },
};

/** Reads a list of calls. @throws SyntaxError for anything else */
export function readPythonCalls(reader: PythonReader): readonly ParsedToolCall[] {
  const calls: ParsedToolCall[] = [];
  reader.expect('[');
  reader.items(']', () => calls.push(readCall(reader)));
  return calls;
}

function readCall(reader: PythonReader): ParsedToolCall {
  const name = reader.name();
  const args = new Map<Value, Value>();
  reader.expect('(');
  reader.items(')', () => {
    const key = reader.name();
    reader.expect('=');
    args.set(key, reader.value());
  });
  const json = jsonOf(args);
  if (json === undefined) throw new SyntaxError(`the arguments of ${name} are not JSON`);
  return { name, arguments: json };
}
