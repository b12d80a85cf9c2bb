/**
 * The syntax of LFM2: calls as a Python list between markers,
 * `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`. If the prompt requests JSON, models write a list
 * of JSON objects between the markers.
 */
import { readJsonCalls } from './json-call.js';
import { skipSpace } from './json-span.js';
import { PythonReader } from './python-literal.js';
import { readPythonCalls } from './pythonic.js';
import { isCut, scanCalls, textOutside, type Attempt } from './scan-calls.js';
import type { ToolCallParser } from './types.js';

const open = '<|tool_call_start|>';
const close = '<|tool_call_end|>';

/**
 * Parser for LFM2. The closing marker may be missing at the end of the response. If there are
 * calls, white space around the other text is removed, because it belongs to the call syntax.
 */
export const lfm2: ToolCallParser = {
  markers: [open, close],
  close,
  syntax: {
    open: `${open}[`,
    before: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    after: '}',
    between: ', ',
    close: `]${close}`,
  },
  parse: (text, { isWhole = true } = {}) => {
    const { pieces, toolCalls, ...rest } = scanCalls(text, {
      isWhole,
      find: (from) => text.indexOf(open, from),
      read: (at) => readList(text, skipSpace(text, at + open.length), isWhole),
    });
    if (toolCalls.length === 0) return { text, toolCalls, ...rest };
    return { text: textOutside(pieces.map(withoutEcho)), toolCalls, ...rest };
  },
};

/** Removes calls that the model repeats after the closing marker without a new opening marker. */
const withoutEcho = (piece: string, i: number): string =>
  i === 0 || !piece.includes(close) ? piece : piece.slice(piece.lastIndexOf(close) + close.length);

function readList(text: string, at: number, isWhole: boolean): Attempt | undefined {
  const json = /\{|\[\s*\{/y;
  json.lastIndex = at;
  const read = json.test(text) ? readJsonCalls(text, at) : readPython(text, at);
  const found = closed(text, read, isWhole);
  if (found.toolCalls) return found;
  if (!isWhole && found.end === text.length) return undefined;
  const next = text.indexOf(open, at);
  const body = text.slice(at, next < 0 ? undefined : next);
  const end = body.indexOf(close);
  if (end < 0 && (next >= 0 || !isWhole)) return isWhole ? found : undefined;
  const toolCalls = readUnescaped(end < 0 ? body : body.slice(0, end));
  return toolCalls ? { toolCalls, end: at + (end < 0 ? body.length : end + close.length) } : found;
}

/**
 * Returns the calls if they are followed by the closing marker, or by the end of a complete
 * response. Otherwise reports a malformed call.
 */
function closed(text: string, { toolCalls, ...rest }: Attempt, isWhole: boolean): Attempt {
  if (!toolCalls) return rest;
  const at = skipSpace(text, rest.end);
  if (text.startsWith(close, at)) return { toolCalls, end: at + close.length };
  if (isWhole && at === text.length) return { toolCalls, end: at };
  return { malformed: 1, end: isCut(text, at, close) ? text.length : at };
}

function readPython(text: string, at: number, quotes?: 'unescaped'): Attempt {
  const reader = new PythonReader(text, at, quotes);
  try {
    const toolCalls = readPythonCalls(reader);
    return toolCalls.length > 0 ? { toolCalls, end: reader.at } : { malformed: 1, end: reader.at };
  } catch {
    return { malformed: 1, end: reader.at };
  }
}

/** Reads calls whose strings contain unescaped quotes. */
function readUnescaped(body: string): Attempt['toolCalls'] {
  const { toolCalls, end } = readPython(body, 0, 'unescaped');
  return skipSpace(body, end) === body.length ? toolCalls : undefined;
}
