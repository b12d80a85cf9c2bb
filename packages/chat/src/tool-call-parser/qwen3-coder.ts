/**
 * The syntax of Qwen3-Coder, with arguments as text between tags:
 * `<tool_call><function=f><parameter=a>1</parameter></function></tool_call>`.
 */
import type { ToolDefinition } from '@trinity-rft/core';
import type { Value } from '../jinja/values.js';
import { readCallOf } from './argument-json.js';
import { scanJson } from './json-scan.js';
import { skipSpace } from './json-span.js';
import { isCut, scanCalls, type Attempt } from './scan-calls.js';
import { propertiesOf, typesOf } from './schema-types.js';
import { convert } from './typed-text.js';
import type { ToolCallParser } from './types.js';

const open = '<tool_call>';
const close = '</tool_call>';
const functionOpen = '<function=';
const functionClose = '</function>';
const parameterOpen = '<parameter=';
const parameterClose = '</parameter>';

/**
 * Parser for Qwen3-Coder. The opening tag `<tool_call>` may be missing. The closing tags may be
 * missing at the end of the response, because models often stop before them.
 */
export const qwen3Coder: ToolCallParser = {
  markers: [open, close, functionOpen],
  close,
  parse: (text, { tools = [], isWhole = true } = {}) => {
    const reader = callReader(text, tools, isWhole);
    const { pieces, toolCalls, ...rest } = scanCalls(text, {
      isWhole,
      find: (from) => matchFrom(/<tool_call>|<function=/g, text, from)?.index ?? -1,
      read: reader,
    });
    if (toolCalls.length === 0) return { text, toolCalls, ...rest };
    const last = pieces.length - 1;
    const kept = pieces.map((piece, i) => {
      const begun = i > 0 ? piece.trimStart() : piece;
      return i < last && begun.endsWith('\n') ? begun.slice(0, -1) : begun;
    });
    return { text: kept.join(''), toolCalls, ...rest };
  },
};

function matchFrom(pattern: RegExp, text: string, from: number): RegExpExecArray | undefined {
  const search = new RegExp(pattern);
  search.lastIndex = from;
  return search.exec(text) ?? undefined;
}

/**
 * Patterns for the end of a parameter. The closing tag `</parameter>` only counts if another
 * parameter or the end of the call follows; otherwise it belongs to the value. A complete end of a
 * call that is followed by a new call also ends the parameter.
 */
const parameterEnds = {
  tagged: endPattern(`${functionClose}\\s*${close}`),
  bare: endPattern(functionClose),
};

function endPattern(callEnd: string): RegExp {
  const next = `<parameter=[^<>\\n]*>|${callEnd}`;
  const newCall = `${functionClose}\\s*${close}\\s*${open}\\s*${functionOpen}`;
  return new RegExp(`${parameterClose}(?=\\s*(?:${next}))|(?=${newCall})`, 'g');
}

/** Matches the closing tags at the end of a text that ends before `</tool_call>`. */
const cutEnd = /<\/parameter>\s*(?:<\/function>\s*)?$/;

const anyTag = /<\/parameter>|<parameter=[^<>\n]*>|<\/function>|$/g;

interface Parameter {
  readonly raw: string;
  readonly end: number;
}

function callReader(
  text: string,
  tools: readonly ToolDefinition[],
  isWhole: boolean,
): (at: number) => Attempt | undefined {
  /**
   * Lowest index from which a search for the end of a parameter found none, so that later searches
   * can be skipped.
   */
  let unended = text.length;
  const cut = isWhole ? matchFrom(new RegExp(cutEnd, 'g'), text, 0)?.index : undefined;

  const parameterAt = (
    at: number,
    isTagged: boolean,
    types: readonly string[],
  ): Parameter | undefined => {
    const json = jsonEnd(text, at, types);
    if (json === 'cut' && !isWhole) return undefined;
    if (typeof json === 'number')
      return { raw: text.slice(at, json), end: json + parameterClose.length };
    const found =
      at < unended
        ? matchFrom(isTagged ? parameterEnds.tagged : parameterEnds.bare, text, at)
        : undefined;
    if (found) return { raw: text.slice(at, found.index), end: found.index + found[0].length };
    if (!isWhole) return undefined;
    unended = Math.min(unended, at);
    const tag = cut !== undefined && cut >= at ? cut : (matchFrom(anyTag, text, at)?.index ?? at);
    const isClosed = text.startsWith(parameterClose, tag);
    return { raw: text.slice(at, tag), end: tag + (isClosed ? parameterClose.length : 0) };
  };

  return (start) => {
    const isTagged = text.startsWith(open, start);
    let at = isTagged ? skipSpace(text, start + open.length) : start;
    const head = matchFrom(/<function=([^<>\n]*)>/y, text, at);
    const name = head?.[1]?.trim() ?? '';
    if (!isWhole && isCutTag(text, at, functionOpen)) return undefined;
    if (!head || name === '')
      return { malformed: 1, end: head ? at + head[0].length : Math.max(at, start + 1) };
    const schema = tools.find((tool) => tool.function.name === name)?.function.parameters ?? {};
    const properties = propertiesOf(schema, schema);
    const args = new Map<Value, Value>();
    for (at = skipSpace(text, at + head[0].length); ; at = skipSpace(text, at)) {
      const tag = matchFrom(/<parameter=([^<>\n]*)>/y, text, at);
      if (!tag && !isWhole && isCutTag(text, at, parameterOpen)) return undefined;
      if (!tag) break;
      const key = tag[1] ?? '';
      const schemas = properties.get(key);
      const types = schemas ? typesOf(schemas, schema) : undefined;
      const parameter = parameterAt(at + tag[0].length, isTagged, types ?? []);
      if (!parameter) return undefined;
      const value = parameter.raw.replace(/^\n/, '').replace(/\n$/, '');
      args.set(key, types ? convert(value, types) : value);
      at = parameter.end;
    }
    const end = callEnd(text, at, isTagged, isWhole);
    if (end === 'cut') return undefined;
    if (end === undefined) return { malformed: 1, end: at };
    return readCallOf(name, args, end);
  };
}

/**
 * Returns true if the text ends inside a tag with a name, such as `<function=f>`, that begins at
 * `at`.
 * @param start beginning of the tag, up to the name
 */
function isCutTag(text: string, at: number, start: string): boolean {
  if (!text.startsWith(start, at)) return isCut(text, at, start);
  const name = matchFrom(/[^<>\n]*/y, text, at + start.length);
  return at + start.length + (name?.[0].length ?? 0) === text.length;
}

/**
 * Returns the index after a parameter value that must be JSON according to its types. Returns `cut`
 * if the text ends within the value, and undefined if the value may be plain text or is not JSON.
 */
function jsonEnd(text: string, at: number, types: readonly string[]): number | 'cut' | undefined {
  if (types.length === 0 || types.includes('string')) return undefined;
  const start = skipSpace(text, at);
  const { kind, at: end } = scanJson(text, start);
  if (kind === 'cut') return 'cut';
  const after = skipSpace(text, end);
  return kind === 'ended' && text.startsWith(parameterClose, after) ? after : undefined;
}

/**
 * Returns the index after a call's closing tags, which are expected at `at`. Returns `cut` if the
 * text ends within them, and undefined if other text is there.
 */
function callEnd(
  text: string,
  at: number,
  isTagged: boolean,
  isWhole: boolean,
): number | 'cut' | undefined {
  if (isCut(text, at, functionClose)) return isWhole ? text.length : 'cut';
  if (!text.startsWith(functionClose, at)) return undefined;
  const end = at + functionClose.length;
  const after = skipSpace(text, end);
  if (text.startsWith(close, after)) return after + close.length;
  if (!isTagged) return end;
  return isCut(text, after, close) ? (isWhole ? text.length : 'cut') : undefined;
}
