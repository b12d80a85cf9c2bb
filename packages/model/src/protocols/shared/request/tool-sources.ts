/**
 * Extracts tool schemas as JSON text. A parsed schema no longer shows how its numbers were written.
 */
import { itemSpans, memberSpans, skipSpace } from '@trinity-rft/chat/internal';
import { keepSource } from '../../../rollout/tool-definitions.js';
import { isObject } from './fields.js';

/**
 * Matches numbers that JavaScript may write differently than the client, and keys that it may
 * reorder.
 */
const respelled = /\d\.\d|\d[eE]|\d{16}|"\d+"\s*:/;

/** JSON text of one tool's schema. */
export interface ToolSource {
  /** Path of the schema in the body. */
  readonly at: readonly (string | number)[];
  readonly source: string;
}

/**
 * Returns the JSON text of each tool schema in a body, if serializing at least one of the parsed
 * schemas may give a different text. Otherwise returns an empty list.
 */
export function toolSources(body: unknown, text: string): readonly ToolSource[] {
  const tools: unknown = isObject(body) ? body['tools'] : undefined;
  if (!Array.isArray(tools) || tools.length === 0) return [];
  const [start, end] = memberSpans(text, skipSpace(text, 0)).get('tools') ?? [0, 0];
  if (!respelled.test(text.slice(start, end))) return [];
  return itemSpans(text, start).flatMap(([at], i) =>
    isObject(tools[i]) ? schemasOf(text, at, ['tools', i]) : [],
  );
}

/**
 * Finds the schemas of one tool. Depending on the API, they are at `function.parameters`,
 * `parameters` or `input_schema`.
 */
function schemasOf(text: string, at: number, tool: ToolSource['at']): readonly ToolSource[] {
  const outer = memberSpans(text, at);
  const inner = outer.get('function');
  const definition = inner ? [...tool, 'function'] : tool;
  const spans = inner ? memberSpans(text, inner[0]) : outer;
  return ['parameters', 'input_schema'].flatMap((key) => {
    const span = spans.get(key);
    return span ? [{ at: [...definition, key], source: text.slice(...span) }] : [];
  });
}

/**
 * Stores the JSON text of tool schemas, so that prompts rendered from this body contain the
 * client's own text.
 */
export function keepToolSources(body: unknown, found: readonly ToolSource[]): void {
  for (const { at, source } of found) {
    const schema = at.reduce<unknown>(
      (value, key) => (value as Readonly<Record<string, unknown>> | null)?.[key],
      body,
    );
    if (isObject(schema)) keepSource(schema, source);
  }
}
