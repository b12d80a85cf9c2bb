/** Parses tool calls in JSON from a text, and compares lists of calls. */
import { parseJsonExactly } from '@trinity-rft/core/support';

export interface Call {
  readonly name: string;
  /** Arguments as a JSON string with sorted keys. */
  readonly args: string;
}

const open = '<tool_call>';
const close = '</tool_call>';

/**
 * Returns the calls of all `<tool_call>..</tool_call>` after the thought, in order. Returns
 * undefined if there is no such tag, if a tag is not closed, or if the content of a tag cannot be
 * parsed.
 */
export function callsIn(response: string): readonly Call[] | undefined {
  const thought = response.indexOf('</think>');
  const found: Call[] = [];
  let start = response.indexOf(open, Math.max(thought, 0));
  if (start < 0) return undefined;
  for (; start >= 0; start = response.indexOf(open, start)) {
    const end = closeAfter(response, start + open.length);
    const calls =
      end === undefined ? undefined : readCalls(response.slice(start + open.length, end));
    if (end === undefined || !calls) return undefined;
    found.push(...calls);
    start = end + close.length;
  }
  return found;
}

/** Returns the index of the first closing tag that is not part of a JSON string. */
function closeAfter(text: string, from: number): number | undefined {
  const marks = /\\.|"|<\/tool_call>/gs;
  marks.lastIndex = from;
  let inString = false;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    if (mark[0] === '"') inString = !inString;
    else if (mark[0] === close && !inString) return mark.index;
  }
  return undefined;
}

/**
 * Parses a JSON list of calls, or a single call. The JSON may also be encoded as a JSON string.
 * Returns undefined for anything else.
 */
export function readCalls(json: string): readonly Call[] | undefined {
  try {
    const once = parseJson(json);
    const value = typeof once === 'string' ? parseJson(once) : once;
    const items: readonly unknown[] = Array.isArray(value)
      ? value
      : isObject(value)
        ? [value]
        : [undefined];
    const calls = items.map(readCall);
    return calls.every((call) => call !== undefined) ? calls : undefined;
  } catch {
    // The text is not JSON, or is nested too deeply to parse.
    return undefined;
  }
}

function readCall(item: unknown): Call | undefined {
  if (!isObject(item) || !Object.hasOwn(item, 'name') || !Object.hasOwn(item, 'arguments'))
    return undefined;
  return { name: JSON.stringify(item['name']), args: JSON.stringify(sortKeys(item['arguments'])) };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses JSON. Long integers keep all their digits, so that almost equal ids remain different. They
 * become objects, so that a number differs from a string of the same digits.
 */
const parseJson = (text: string): unknown =>
  parseJsonExactly(text.trim(), (digits) => ({ digits }));

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  // Entries are pairs, because an object would move keys such as "10" to the front, and lose
  // __proto__.
  return {
    sorted: Object.keys(value)
      .toSorted()
      .map((key) => [key, sortKeys(value[key])]),
  };
}

/**
 * Returns true if both lists contain the same calls, each the same number of times, in any order.
 */
export function sameCalls(a: readonly Call[], b: readonly Call[]): boolean {
  return (
    keysOf(a, ({ name, args }) => `${name} ${args}`) ===
    keysOf(b, ({ name, args }) => `${name} ${args}`)
  );
}

/**
 * Returns true if both lists contain calls of the same tools, each the same number of times, in any
 * order.
 */
export function sameNames(a: readonly Call[], b: readonly Call[]): boolean {
  return keysOf(a, ({ name }) => name) === keysOf(b, ({ name }) => name);
}

const keysOf = (calls: readonly Call[], key: (call: Call) => string): string =>
  calls.map(key).toSorted().join('\n');
