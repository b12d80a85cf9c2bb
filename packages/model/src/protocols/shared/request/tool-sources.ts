/** The JSON texts of tool schemas, whose numbers are lost once they are parsed. */
import { itemSpans, memberSpans, skipSpace } from '@trinity-rft/chat/internal';
import { keepSource } from '../../../rollout/tool-definitions.js';

/** Numbers that JavaScript may spell differently, and keys that it moves. */
const respelled = /\d\.\d|\d[eE]|\d{16}|"\d+"\s*:/;

type Tool = Readonly<Record<string, unknown>>;

/** Remembers the schemas of a body's tools that JavaScript would spell differently. */
export function keepToolSources(body: unknown, text: string): void {
  const tools: unknown = isRecord(body) ? body['tools'] : undefined;
  if (!Array.isArray(tools) || tools.length === 0) return;
  const [start, end] = memberSpans(text, skipSpace(text, 0)).get('tools') ?? [0, 0];
  if (!respelled.test(text.slice(start, end))) return;
  itemSpans(text, start).forEach(([at], i) => {
    const tool: unknown = tools[i];
    if (isRecord(tool)) keepSchema(tool, text, at);
  });
}

/** Of a tool of chat completions (inside `function`), of Responses, or of Messages. */
function keepSchema(tool: Tool, text: string, at: number): void {
  const outer = memberSpans(text, at);
  const inner = outer.get('function');
  const definition = inner ? tool['function'] : tool;
  const spans = inner ? memberSpans(text, inner[0]) : outer;
  for (const key of ['parameters', 'input_schema']) {
    const [span, schema] = [spans.get(key), isRecord(definition) ? definition[key] : undefined];
    if (span && isRecord(schema)) keepSource(schema, text.slice(...span));
  }
}

const isRecord = (value: unknown): value is Tool =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
