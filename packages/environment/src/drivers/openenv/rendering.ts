/**
 * Converts observations to text for the policy, and the server's tools to tool definitions for the
 * model.
 */
import type { ToolDefinition } from '@trinity-rft/core';
import type { z } from 'zod';
import type { ObservationData, toolSchema } from './messages.js';

type Observation = ObservationData['observation'];

/** Fields of an observation that the policy does not see by default. */
const hidden: ReadonlySet<string> = new Set(['metadata', 'reward', 'done']);

/**
 * Converts the fields of an observation to text: only the value if there is a single field,
 * otherwise lines of the form `name: value`.
 */
export function renderObservation(
  observation: Observation,
  fields: readonly string[] | undefined,
): string {
  const names = fields ?? Object.keys(observation).filter((name) => !hidden.has(name));
  const shown = names
    .map((name) => [name, observation[name]] as const)
    .filter(([, value]) => value != null);
  const [only] = shown;
  if (shown.length === 1 && only !== undefined) return renderValue(only[1]);
  return shown.map(([name, value]) => `${name}: ${renderValue(value)}`).join('\n');
}

const renderValue = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

interface ToolResult {
  readonly content?: unknown;
  readonly data?: unknown;
  readonly is_error?: unknown;
}

/** Returns the text of a tool result. If it contains no text, returns its data. */
export function renderResult(result: unknown): string {
  if (typeof result !== 'object' || result === null) return renderValue(result ?? '');
  const { content, data } = result as ToolResult;
  const texts = Array.isArray(content)
    ? content.map((part) => (part as { readonly text?: unknown }).text)
    : [];
  if (texts.length > 0 && texts.every((text) => typeof text === 'string')) return texts.join('\n');
  return renderValue(data ?? result);
}

export const isErrorResult = (result: unknown): boolean =>
  (result as ToolResult | null | undefined)?.is_error === true;

export const toolDefinition = (tool: z.infer<typeof toolSchema>): ToolDefinition => ({
  type: 'function',
  function: {
    name: tool.name,
    description: tool.description ?? undefined,
    parameters: tool.input_schema ?? undefined,
  },
});
