/** Reads calls that are JSON objects, `{"name": ..., "arguments": {...}}`, and lists of them. */
import { isTooDeep } from './argument-json.js';
import { scanJson, type JsonScan } from './json-scan.js';
import { memberSpans, skipSpace } from './json-span.js';
import type { Attempt } from './scan-calls.js';
import type { ParsedToolCall } from './types.js';

export interface JsonCall extends JsonScan {
  /** The call that was read; undefined if the value is not a call, or is incomplete. */
  readonly call?: ParsedToolCall;
}

/**
 * Reads the JSON object that begins at `at` as a call. Its arguments are under the key `arguments`
 * or, in Llama's format, `parameters`.
 * @param bare arguments of a call whose object has neither key; if undefined, such an object is not
 * a call
 */
export function readJsonCall(text: string, at: number, bare?: '{}'): JsonCall {
  if (text[at] !== '{') return { kind: at < text.length ? 'invalid' : 'cut', at, open: [] };
  const scan = scanJson(text, at);
  if (scan.kind !== 'ended') return scan;
  const spans = memberSpans(text, at);
  const nameSpan = spans.get('name');
  const name: unknown = nameSpan && JSON.parse(text.slice(...nameSpan));
  const span = spans.get('arguments') ?? spans.get('parameters');
  const args = span ? readArguments(text.slice(...span)) : bare;
  return typeof name === 'string' && name !== '' && args !== undefined
    ? { ...scan, call: { name, arguments: args } }
    : scan;
}

/**
 * Reads a list of calls, or calls without brackets that are separated by commas. If the text ends
 * after a call, a missing closing bracket is ignored.
 */
export function readJsonCalls(text: string, start: number): Attempt {
  const toolCalls: ParsedToolCall[] = [];
  let at = text[start] === '[' ? skipSpace(text, start + 1) : start;
  for (;;) {
    const { kind, call, at: end } = readJsonCall(text, at, '{}');
    if (!call) return { malformed: 1, end: kind === 'invalid' ? start : end };
    toolCalls.push(call);
    at = skipSpace(text, end);
    if (text[at] !== ',') break;
    at = skipSpace(text, at + 1);
  }
  if (text[start] === '[' && text[at] === ']') return { toolCalls, end: at + 1 };
  const isEnded = text[start] === '{' || at === text.length;
  return isEnded ? { toolCalls, end: at } : { malformed: 1, end: at };
}

/**
 * Returns the JSON object in which a call has its arguments, as the model wrote it. If the object
 * is encoded as a JSON string, returns the object in the string. `null` and an empty string mean
 * that there are no arguments. Returns undefined for other JSON, and for arguments that are nested
 * too deeply.
 */
export function readArguments(json: string): string | undefined {
  const object = objectIn(json);
  return object === undefined || isTooDeep(object) ? undefined : object;
}

function objectIn(json: string): string | undefined {
  if (json.startsWith('{')) return json;
  if (json === 'null') return '{}';
  if (!json.startsWith('"')) return undefined;
  const inner = (JSON.parse(json) as string).trim();
  if (inner === '') return '{}';
  const { kind, at } = scanJson(inner, 0);
  return inner.startsWith('{') && kind === 'ended' && skipSpace(inner, at) === inner.length
    ? inner
    : undefined;
}
