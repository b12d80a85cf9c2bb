/** The JSON texts of tool schemas, whose numbers are lost once they are parsed. */
import { itemSpans, memberSpans, skipSpace } from '@trinity-rft/chat/internal';
import { keepSource } from '../../../rollout/tool-definitions.js';

/** Numbers that JavaScript may spell differently, and keys that it moves. */
const respelled = /\d\.\d|\d[eE]|\d{16}|"\d+"\s*:/;

/** The text of one tool's schema. */
export interface ToolSource {
  /** Where the schema is in the body. */
  readonly at: readonly (string | number)[];
  readonly source: string;
}

/** The schemas of a body's tools that JavaScript would spell differently. */
export function toolSources(body: unknown, text: string): readonly ToolSource[] {
  const tools: unknown = isRecord(body) ? body['tools'] : undefined;
  if (!Array.isArray(tools) || tools.length === 0) return [];
  const [start, end] = memberSpans(text, skipSpace(text, 0)).get('tools') ?? [0, 0];
  if (!respelled.test(text.slice(start, end))) return [];
  return itemSpans(text, start).flatMap(([at], i) =>
    isRecord(tools[i]) ? schemasOf(text, at, ['tools', i]) : [],
  );
}

/** Schemas of a tool of chat completions (inside `function`), of Responses, or of Messages. */
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

/** Remembers them for the prompts that the body asks for. */
export function keepToolSources(body: unknown, found: readonly ToolSource[]): void {
  for (const { at, source } of found) {
    const schema = at.reduce<unknown>(
      (value, key) => (value as Readonly<Record<string, unknown>> | null)?.[key],
      body,
    );
    if (isRecord(schema)) keepSource(schema, source);
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
