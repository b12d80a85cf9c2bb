/** A call as a JSON object: `{"name": ..., "arguments": {...}}`. */
import { memberSpans, valueEnd } from './json-span.js';
import type { ParsedToolCall } from './types.js';

export interface FoundCall {
  readonly call: ParsedToolCall;
  /** Index after the call. */
  readonly end: number;
}

/**
 * The call that begins at `at`. Its arguments are an object under `arguments` or, as Llama writes it,
 * `parameters`.
 */
export function readJsonCall(text: string, at: number): FoundCall | undefined {
  const end = text[at] === '{' ? valueEnd(text, at) : -1;
  const value = end < 0 ? undefined : parse(text.slice(at, end));
  if (typeof value?.name !== 'string' || value.name === '') return undefined;
  const spans = memberSpans(text, at);
  const span = spans.get('arguments') ?? spans.get('parameters');
  if (!span) return { call: { name: value.name, arguments: '{}' }, end };
  if (text[span[0]] !== '{') return undefined;
  return { call: { name: value.name, arguments: text.slice(...span) }, end };
}

function parse(text: string): { readonly name?: unknown } | undefined {
  try {
    return JSON.parse(text) as { readonly name?: unknown };
  } catch {
    return undefined;
  }
}
