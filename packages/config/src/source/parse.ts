/**
 * Parses YAML 1.2 to a tree with positions. The text may have anchors and merge keys, but only one
 * document.
 */
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Alias,
  type Document,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Entry, KeyPath, MapNode, Node, Scalar } from './node.js';
import type { LocatedProblem, SourcePosition } from './problem.js';

export interface ParsedTree {
  /** The tree; undefined if the text is not a map of keys. */
  readonly root: MapNode | undefined;
  readonly problems: readonly LocatedProblem[];
}

/** Advice for syntax errors, by error code of the YAML library. */
const fixes: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'A tab indents this line; YAML allows only spaces. Replace the tab by two spaces.',
  BAD_INDENT:
    'The indentation does not fit the lines above. Use two spaces for each level, and close every bracket and quote.',
  MISSING_CHAR:
    'Something is not closed or not separated. Check quotes, brackets and the ":" after each key.',
  MULTIPLE_DOCS:
    'A configuration is one document; remove the "---" line and what follows, or move that part to a separate file.',
  MULTILINE_IMPLICIT_KEY:
    'A key must fit on one line and be followed by ":". Is a ":" missing in the line above?',
  BLOCK_AS_IMPLICIT_KEY:
    'A section cannot start on the line of its key. Put nested keys on lines of their own, indented by two spaces.',
  BAD_SCALAR_START: 'This character cannot start a plain value. Put the value in quotes.',
  UNEXPECTED_TOKEN:
    'This is not expected here. Quote the value if it holds one of : # { } [ ] , & * ! | > % @.',
  BAD_DQ_ESCAPE:
    'A backslash in double quotes starts an escape. Use single quotes, or two backslashes.',
  TAG_RESOLVE_FAILED:
    'This tag has no meaning here. Remove the word that starts with "!", or quote the value if it is text; "${oc.env:NAME}" reads an environment variable.',
  BAD_ALIAS: 'A value that starts with "*" refers to an anchor. Quote it if it is text.',
};

/** Maximum number of nodes. The limit is needed because anchors can expand exponentially. */
const maxNodes = 100_000;

export function parseTree(text: string): ParsedTree {
  const counter = new LineCounter();
  const position = positionIn(counter);
  const document = readDocument(text, counter);
  const tooDeep = document?.errors.find(({ message }) => /call stack/i.test(message));
  if (document === undefined || tooDeep !== undefined)
    return {
      root: undefined,
      // The stack size determines the place where the library fails, so only the line is reported.
      problems: [
        { at: { ...position(tooDeep?.pos[0]), column: 1 }, key: [], message: tooDeepText },
      ],
    };
  const errors = errorsOf(document);
  if (errors.length > 0)
    return { root: undefined, problems: errors.map((error) => syntaxProblem(error, position)) };
  const reader = new TreeReader(document, position);
  if (document.contents === null) {
    const message =
      'The file is empty. Expected sections such as "model:", "buffer:" and "algorithm:".';
    return { root: undefined, problems: [{ at: { line: 1, column: 1 }, key: [], message }] };
  }
  const node = reader.read(document.contents, []);
  if (reader.duplicates.length > 0) return { root: undefined, problems: reader.duplicates };
  const problems = [...reader.problems];
  if (node.kind === 'map') return { root: node, problems };
  const found =
    node.kind === 'list' ? 'a list' : node.value === null ? 'nothing' : 'a single value';
  problems.push({
    at: node.at,
    key: [],
    message: `The file holds ${found}. Expected sections such as "model:", "buffer:" and "algorithm:".`,
  });
  return { root: undefined, problems };
}

const tooDeepText =
  'Lists or sections are nested too deeply here; no configuration needs more than a dozen levels. Is a bracket repeated, or not closed?';

/** Parses the text with the YAML library. Returns undefined if the text is nested too deeply. */
function readDocument(text: string, lineCounter: LineCounter) {
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      merge: true,
      stringKeys: false,
      // Disabled, because the library compares each key with every other key. The reader below
      // finds duplicates.
      uniqueKeys: false,
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns the errors of a document, including unknown tags, of which the library only warns. */
const errorsOf = ({ errors, warnings }: Document): readonly YAMLError[] => [
  ...errors,
  ...warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED'),
];

/**
 * Parses one value, such as `[1, 2]`.
 * @throws YAMLError for text that is not YAML, and for unknown tags
 */
export function parseValue(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: false, merge: true });
  const [error] = errorsOf(document);
  if (error) throw error;
  return document.toJS();
}

type Locate = (offset: number | undefined) => SourcePosition;

function positionIn(counter: LineCounter): Locate {
  return (offset) => {
    const { line, col } = counter.linePos(offset ?? 0);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
}

/**
 * Matches the library's message about a standard tag, such as `!!int`, whose value does not have
 * the form of the tag.
 */
const standardTag = /^Unresolved tag: tag:yaml\.org,2002:(?:float|int|bool|null)\b/;
const wrongForm =
  'The value does not have the form of its tag. Remove the tag, or write the value in that form: 1.0 for !!float, 1 for !!int, true for !!bool.';

function syntaxProblem(error: YAMLError, position: Locate): LocatedProblem {
  const fix = standardTag.test(error.message) ? wrongForm : fixes[error.code];
  const reason = error.message.replaceAll(/\s+/g, ' ').replace(/[.:]?$/, '.');
  return {
    at: position(error.pos[0]),
    key: [],
    message: fix === undefined ? `This is not valid YAML: ${reason}` : `${fix} (YAML: ${reason})`,
  };
}

/** Converts the nodes of the YAML library to nodes of this package, and follows aliases. */
class TreeReader {
  readonly problems: LocatedProblem[] = [];
  /** Problems of keys that a section sets twice. */
  readonly duplicates: LocatedProblem[] = [];
  readonly #document: Document;
  readonly #position: Locate;
  readonly #following = new Set<unknown>();
  #count = 0;

  constructor(document: Document, position: Locate) {
    this.#document = document;
    this.#position = position;
  }

  read(source: unknown, path: KeyPath): Node {
    const at = this.#position(rangeOf(source));
    if (++this.#count > maxNodes) {
      if (this.#count === maxNodes + 1)
        this.#problem(
          source,
          path,
          `The file expands to more than ${maxNodes} values. Are anchors nested in each other?`,
        );
      return { kind: 'scalar', value: null, at, path };
    }
    if (isAlias(source)) return this.#alias(source, path);
    if (isMap(source)) return this.#map(source, path);
    if (isSeq(source)) return this.#list(source, path);
    if (!isScalar(source)) return { kind: 'scalar', value: null, at, path };
    const value = scalarOf(source.value);
    return typeof value === 'number'
      ? { kind: 'scalar', value, source: source.source, at, path }
      : { kind: 'scalar', value, at, path };
  }

  #alias(source: Alias, path: KeyPath): Node {
    const target = source.resolve(this.#document);
    const at = this.#position(rangeOf(source));
    if (target === undefined || this.#following.has(target)) {
      this.#problem(
        source,
        path,
        target === undefined
          ? `There is no anchor "&${source.source}". Anchors must stand before their use.`
          : `The anchor "&${source.source}" contains itself.`,
      );
      return { kind: 'scalar', value: null, at, path };
    }
    return this.read(target, path);
  }

  #list(source: YAMLSeq, path: KeyPath): Node {
    this.#following.add(source);
    const items = source.items.map((item, index) =>
      this.read(isPair(item) ? item.value : item, [...path, index]),
    );
    this.#following.delete(source);
    return { kind: 'list', items, at: this.#position(rangeOf(source)), path };
  }

  #map(source: YAMLMap, path: KeyPath): MapNode {
    this.#following.add(source);
    const own = new Map<string, Entry>();
    const merged = new Map<string, Entry>();
    for (const pair of source.items) {
      const key = isScalar(pair.key) ? scalarOf(pair.key.value) : null;
      if (isMergeKey(pair.key))
        for (const entry of this.#merged(pair.value, path)) merged.set(...entry);
      else if (key === null)
        this.#problem(
          pair.key ?? pair.value ?? source,
          path,
          'A key must be a word, followed by ":".',
        );
      else if (own.has(String(key)))
        this.duplicates.push({
          at: this.#position(rangeOf(pair.key)),
          key: [],
          message: 'This key is already set in the same section; keep one of the two.',
        });
      else own.set(String(key), this.#entry(pair.key, pair.value, [...path, String(key)]));
    }
    this.#following.delete(source);
    return {
      kind: 'map',
      entries: new Map([...merged, ...own]),
      at: this.#position(rangeOf(source)),
      path,
    };
  }

  #entry(key: unknown, value: unknown, path: KeyPath): Entry {
    const keyAt = this.#position(rangeOf(key));
    return {
      keyAt,
      node:
        value === null ? { kind: 'scalar', value: null, at: keyAt, path } : this.read(value, path),
    };
  }

  /**
   * Returns the entries of `<<: *anchor` or `<<: [*a, *b]`. If several maps have a key, the first
   * map applies.
   */
  #merged(source: unknown, path: KeyPath): readonly (readonly [string, Entry])[] {
    const node = this.read(source, path);
    const maps = node.kind === 'list' ? node.items.toReversed() : [node];
    if (maps.some((map) => map.kind !== 'map'))
      this.#problem(source, path, '"<<" takes an anchor of a section, or a list of them.');
    return maps.flatMap((map) => (map.kind === 'map' ? [...map.entries] : []));
  }

  #problem(source: unknown, key: KeyPath, message: string): void {
    this.problems.push({ at: this.#position(rangeOf(source)), key, message });
  }
}

/** Returns true for `<<`, which the YAML library reads as a symbol if it is a merge key. */
function isMergeKey(key: unknown): boolean {
  return isScalar(key) && (key.value === '<<' || typeof key.value === 'symbol');
}

function rangeOf(source: unknown): number | undefined {
  return (source as { readonly range?: readonly number[] | null } | null | undefined)?.range?.[0];
}

function scalarOf(value: unknown): Scalar {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : null;
}
