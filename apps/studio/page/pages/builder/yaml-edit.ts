/** Sets or removes one value of a YAML text and keeps the rest of the text. */
import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  parseDocument,
  stringify,
  YAMLMap,
  type Document,
  type Pair,
} from 'yaml';

export type KeyPath = readonly (string | number)[];

/** Formats a path as `buffer.explorer_input.eval_tasksets[0].name`. */
export function showPath(path: KeyPath): string {
  let shown = '';
  for (const part of path)
    shown += typeof part === 'number' ? `[${part}]` : shown === '' ? part : `.${part}`;
  return shown;
}

/** Parses YAML. If this fails, returns the error as `problem`. */
export function readYaml(text: string): { readonly tree: unknown; readonly problem?: string } {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) return { tree: undefined, problem: error.message };
  try {
    return { tree: document.toJS() ?? {} };
  } catch (error) {
    // An alias without its anchor, or too many aliases.
    return { tree: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Returns the text with the value at `path` replaced.
 * @param value undefined removes the key
 * @throws {Error} If a key of the path has a value that is neither empty nor a map or list.
 */
export function setInYaml(text: string, path: KeyPath, value: unknown): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  const careful = spliced(text, document, path, value);
  if (value === undefined) document.deleteIn(path);
  else {
    makeSections(document, path);
    document.setIn(path, value);
  }
  if (careful !== undefined && isSame(careful, document)) return careful;
  // The YAML library keeps comments, but may change the layout of other lines.
  return document.toString({ lineWidth: 0 });
}

/** Makes maps of the empty values on the way to `path`, with their comments. */
function makeSections(document: Document, path: KeyPath): void {
  for (let depth = 1; depth < path.length; depth++) {
    const parent = path.slice(0, depth);
    const node: unknown = document.getIn(parent, true);
    if (isScalar(node) && node.value === null) {
      const map = new YAMLMap(document.schema);
      map.commentBefore = node.comment;
      map.anchor = node.anchor;
      document.setIn(parent, map);
    } else if (isScalar(node) || isAlias(node))
      throw new Error(
        `In the text, ${showPath(parent)} is not a section. Remove its value, so that ${showPath(path)} can be set.`,
      );
  }
}

function isSame(text: string, wanted: Document): boolean {
  const { tree, problem } = readYaml(text);
  return problem === undefined && JSON.stringify(tree) === JSON.stringify(wanted.toJS() ?? {});
}

/**
 * Returns the text with as small a change as possible. Returns undefined for YAML that cannot be
 * edited as text.
 */
function spliced(
  text: string,
  document: Document,
  path: KeyPath,
  value: unknown,
): string | undefined {
  const old: unknown = document.getIn(path, true);
  if (value !== undefined && isScalar(old) && old.range && old.range[1] > old.range[0])
    return text.slice(0, old.range[0]) + inline(value) + text.slice(old.range[1]);
  if (value === undefined) return removed(text, document, path);
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const parent: unknown =
      depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    if (isMap(parent) && parent.items.length > 0)
      return inserted(text, parent, path.slice(depth), value);
    if (parent !== undefined && parent !== null && !(isMap(parent) && depth === 0))
      return undefined;
  }
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${nested(path, value)}`;
}

const inline = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();

const nested = (path: KeyPath, value: unknown): string =>
  stringify(
    path.toReversed().reduce((inner, key) => ({ [key]: inner }), value),
    { lineWidth: 0, defaultStringType: 'PLAIN' },
  );

/** Inserts a key on a line after the last key of the map, or before its closing brace. */
function inserted(text: string, map: YAMLMap, path: KeyPath, value: unknown): string | undefined {
  const [start, end] = map.range ?? [];
  if (start === undefined || end === undefined) return undefined;
  if (map.flow === true) {
    const brace = text.lastIndexOf('}', end - 1);
    const [key, ...rest] = path;
    const inner = rest.reduceRight<unknown>((each, part) => ({ [part]: each }), value);
    const before = text.slice(0, brace).trimEnd();
    const gap = text.slice(before.length, brace);
    return `${before}, ${inline(key)}: ${inline(inner)}${gap}${text.slice(brace)}`;
  }
  const indent = columnOf(text, start);
  const last = map.items.at(-1);
  const at = last && endOfLine(text, endOf(last) ?? end);
  if (at === undefined) return undefined;
  const lines = nested(path, value).trimEnd().split('\n');
  const added = lines.map((line) => `${' '.repeat(indent)}${line}\n`).join('');
  const before = text.slice(0, at);
  return `${before}${before.endsWith('\n') ? '' : '\n'}${added}${text.slice(at)}`;
}

/**
 * Removes the lines of a key. Returns undefined if the key is the only one in its map, or does not
 * begin a line.
 */
function removed(text: string, document: Document, path: KeyPath): string | undefined {
  const parent: unknown =
    path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(parent) || parent.flow === true || parent.items.length < 2) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
  const [start] = (pair && isScalar(pair.key) && pair.key.range) || [];
  const end = pair && endOf(pair);
  if (start === undefined || end === undefined) return undefined;
  const line = text.lastIndexOf('\n', start - 1) + 1;
  if (text.slice(line, start).trim() !== '') return undefined;
  return text.slice(0, line) + text.slice(endOfLine(text, end));
}

/** Offset at which the value of a key ends, before trailing comments. */
function endOf(pair: Pair): number | undefined {
  const { key, value } = pair;
  if (isNode(value)) {
    if ((isMap(value) || isSeq(value)) && value.flow !== true) {
      const last = value.items.at(-1);
      if (isPair(last)) return endOf(last);
      if (isMap(last) && last.flow !== true) {
        const inner = last.items.at(-1);
        return inner ? endOf(inner) : last.range?.[1];
      }
      if (isNode(last)) return last.range?.[1];
    }
    return value.range?.[1];
  }
  return isNode(key) ? key.range?.[1] : undefined;
}

const columnOf = (text: string, at: number): number => at - (text.lastIndexOf('\n', at - 1) + 1);

function endOfLine(text: string, at: number): number {
  if (text[at - 1] === '\n') return at;
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}
