/** Tool definitions as clients send them, brought into the form that chat templates print. */
import { ModelError, type ToolDefinition } from '@trinity-rft/core';

const functionKeys = new Set(['name', 'description', 'parameters']);

const isKept = (key: string, part: unknown): boolean => functionKeys.has(key) && !absent(part);

const absent = (value: unknown): boolean => value === undefined || value === null;

const parts: readonly {
  readonly key: string;
  readonly ok: (value: unknown) => boolean;
  readonly expected: string;
}[] = [
  {
    key: 'name',
    ok: (value) => typeof value === 'string' && value !== '',
    expected: 'the name of the function',
  },
  {
    key: 'description',
    ok: (value) => absent(value) || typeof value === 'string',
    expected: 'a string',
  },
  {
    key: 'parameters',
    ok: (value) => absent(value) || (typeof value === 'object' && !Array.isArray(value)),
    expected: 'a JSON Schema object',
  },
];

/**
 * Keeps name, description and parameters in the client's order (templates print them so) and drops
 * the rest, `strict` for one. No tools at all for an empty list. @throws ModelError 400 naming the
 * tool, for hosted tools
 */
export function normalizeTools(
  tools: readonly unknown[] | undefined,
): readonly ToolDefinition[] | undefined {
  return tools && tools.length > 0 ? tools.map(normalizeTool) : undefined;
}

function normalizeTool(value: unknown, i: number): ToolDefinition {
  const tool = value as { readonly type?: unknown; readonly function?: unknown } | null;
  if (tool?.type !== 'function') {
    throw refusal(
      `tools[${i}].type`,
      `is ${JSON.stringify(tool?.type)}`,
      'function; hosted and custom tools are not available here',
    );
  }
  const definition = (tool.function ?? {}) as Readonly<Record<string, unknown>>;
  for (const { key, ok, expected } of parts) {
    const value = definition[key];
    if (!ok(value))
      throw refusal(
        `tools[${i}].function.${key}`,
        `is ${JSON.stringify(value) ?? 'missing'}`,
        expected,
      );
  }
  const kept = Object.keys(definition).every((key) => isKept(key, definition[key]))
    ? definition
    : Object.fromEntries(Object.entries(definition).filter(([key, part]) => isKept(key, part)));
  return { type: 'function', function: kept as unknown as ToolDefinition['function'] };
}

function refusal(param: string, what: string, expected: string): ModelError {
  return new ModelError(`${param} ${what}. Expected ${expected}.`, {
    status: 400,
    code: 'invalid_request',
    details: { param },
  });
}
