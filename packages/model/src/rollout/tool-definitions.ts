/** Normalizes the tool definitions of clients for use in chat templates. */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import type { ToolDefinition } from '@trinity-rft/core';

/** JSON text of each `parameters` object that a request contained. */
const sources = new WeakMap<object, string>();

/**
 * Stores the JSON text of a `parameters` object. {@link normalizeTools} adds the text to the
 * definition.
 */
export function keepSource(parameters: object, source: string): void {
  sources.set(parameters, source);
}

type Definition = Readonly<Record<string, unknown>>;

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** Fields of a tool definition that are kept, each with a function that checks its value. */
const fields: Readonly<
  Record<string, { readonly ok: (value: unknown) => boolean; readonly expected: string }>
> = {
  name: {
    ok: (value) => typeof value === 'string' && value !== '',
    expected: 'the name of the function',
  },
  description: {
    ok: (value) => isAbsent(value) || typeof value === 'string',
    expected: 'a string',
  },
  parameters: {
    ok: (value) => isAbsent(value) || (typeof value === 'object' && !Array.isArray(value)),
    expected: 'a JSON Schema object',
  },
};

/**
 * Returns tool definitions with name, description and parameters with keys in the client's order,
 * because templates print them in this order. Drops other fields, such as `strict`. Returns
 * undefined for an empty list.
 * @throws ModelError 400 naming the tool, for hosted tools and invalid definitions
 */
export function normalizeTools(
  tools: readonly unknown[] | undefined,
): readonly ToolDefinition[] | undefined {
  return tools && tools.length > 0 ? tools.map(normalizeTool) : undefined;
}

function normalizeTool(value: unknown, i: number): ToolDefinition {
  const tool = value as { readonly type?: unknown; readonly function?: unknown } | null;
  if (tool?.type !== 'function') {
    throw invalidRequest(
      `tools[${i}].type`,
      `is ${quote(tool?.type)}`,
      'function; hosted and custom tools are not supported',
    );
  }
  const definition = (tool.function ?? {}) as Definition;
  checkDefinition(definition, (key) => `tools[${i}].function.${key}`);
  const parametersSource = sourceOf(definition['parameters']);
  return {
    type: 'function',
    function: keptFields(definition) as ToolDefinition['function'],
    ...(parametersSource !== undefined && { parametersSource }),
  };
}

/**
 * Checks a definition in the format of chat completions.
 * @param pathOf returns the path of a field in the client's request
 * @throws ModelError 400 naming the field
 */
export function checkDefinition(
  definition: Definition,
  pathOf: (field: string) => string,
): asserts definition is Definition & { readonly name: string } {
  for (const [key, { ok, expected }] of Object.entries(fields)) {
    if (ok(definition[key])) continue;
    const what = definition[key] === undefined ? 'is missing' : `is ${quote(definition[key])}`;
    throw invalidRequest(pathOf(key), what, expected);
  }
}

const sourceOf = (parameters: unknown): string | undefined =>
  typeof parameters === 'object' && parameters !== null ? sources.get(parameters) : undefined;

/**
 * Returns the definition with the kept fields only, or the client's own object if all its fields
 * are kept.
 */
function keptFields(definition: Definition): unknown {
  const isKept = (key: string): boolean => Object.hasOwn(fields, key) && !isAbsent(definition[key]);
  return Object.keys(definition).every(isKept)
    ? definition
    : Object.fromEntries(Object.entries(definition).filter(([key]) => isKept(key)));
}
