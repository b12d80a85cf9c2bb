/** Tool definitions as clients send them, brought into the form that chat templates print. */
import { ModelError, type ToolDefinition } from '@trinity-rft/core';

const functionKeys = new Set(['name', 'description', 'parameters']);

/**
 * Keeps name, description and parameters in the client's order (templates print them so) and drops the rest, `strict` for
 * one. No tools at all for an empty list. @throws ModelError 400 naming the tool, for hosted tools
 */
export function normalizeTools(tools: readonly unknown[] | undefined): readonly ToolDefinition[] | undefined {
  return tools && tools.length > 0 ? tools.map(normalizeTool) : undefined;
}

function normalizeTool(value: unknown, i: number): ToolDefinition {
  const tool = value as { readonly type?: unknown; readonly function?: unknown } | null;
  if (tool?.type !== 'function') {
    throw refusal(`tools[${i}].type`, `is ${JSON.stringify(tool?.type)}`, 'function; hosted and custom tools are not available here');
  }
  const definition = (tool.function ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof definition['name'] !== 'string') throw refusal(`tools[${i}].function.name`, 'is missing', 'the name of the function');
  const kept = Object.entries(definition).filter(([key, part]) => functionKeys.has(key) && part !== undefined && part !== null);
  return { type: 'function', function: Object.fromEntries(kept) as unknown as ToolDefinition['function'] };
}

function refusal(param: string, what: string, expected: string): ModelError {
  return new ModelError(`${param} ${what}. Expected ${expected}.`, { status: 400, code: 'invalid_request', details: { param } });
}
