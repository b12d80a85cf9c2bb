/** Tool calls as JSON in a text, and when two lists of them are the same. */

export interface Call {
  readonly name: string;
  /** JSON with sorted keys. */
  readonly args: string;
}

/**
 * The calls of the last `<tool_call>..</tool_call>`; undefined when there is none or it cannot be
 * read.
 */
export function callsIn(response: string): readonly Call[] | undefined {
  let last: string | undefined;
  for (let open = response.indexOf('<tool_call>'); open >= 0;) {
    const start = open + '<tool_call>'.length;
    const close = response.indexOf('</tool_call>', start);
    if (close < 0) break;
    last = response.slice(start, close);
    open = response.indexOf('<tool_call>', close);
  }
  return last === undefined ? undefined : readCalls(last);
}

/** A list of calls, one call, or either as JSON in a JSON text; undefined for anything else. */
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
    // Not JSON, or nested deeper than the stack: not a call.
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
 * Whole numbers that a float cannot hold keep their digits: two long ids that are close are not the
 * same.
 */
function parseJson(text: string): unknown {
  const keepDigits = (
    _key: string,
    value: unknown,
    context?: { readonly source?: string },
  ): unknown =>
    typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
      ? { digits: context?.source ?? String(value) }
      : value;
  return JSON.parse(text.trim(), keepDigits) as unknown;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  // As pairs: an object would put keys like "10" first, and loses __proto__.
  return {
    sorted: Object.keys(value)
      .toSorted()
      .map((key) => [key, sortKeys(value[key])]),
  };
}

/** The same calls, each equally often, in any order. */
export function sameCalls(a: readonly Call[], b: readonly Call[]): boolean {
  return (
    keysOf(a, ({ name, args }) => `${name} ${args}`) ===
    keysOf(b, ({ name, args }) => `${name} ${args}`)
  );
}

/** The same tools, each equally often, in any order. */
export function sameNames(a: readonly Call[], b: readonly Call[]): boolean {
  return keysOf(a, ({ name }) => name) === keysOf(b, ({ name }) => name);
}

const keysOf = (calls: readonly Call[], key: (call: Call) => string): string =>
  calls.map(key).toSorted().join('\n');
