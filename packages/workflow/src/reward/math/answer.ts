/**
 * Parses the structure of an answer: quantities in lists, tuples, sets, intervals, matrices,
 * equations and inequalities.
 */
import { variablesOf } from './expression.js';
import { tokenize, type Token } from './lexer.js';
import { readQuantity, type Quantity } from './quantity.js';

export type Answer = Quantity | Group | Equation | Inequality | PlainText;

/**
 * Shape of a group. A `list` has no brackets. For tuples and intervals, the shape consists of the
 * brackets with a comma between them, such as `(,)` and `[,)`.
 */
type GroupShape = 'list' | 'set' | 'union' | 'ratio' | 'matrix' | 'row' | `${string},${string}`;

export interface Group {
  readonly kind: 'group';
  readonly shape: GroupShape;
  readonly items: readonly Answer[];
}

/**
 * Two or more sides, joined by equals signs. `name` is the first side, if that side is a variable
 * or `f(x)`.
 */
export interface Equation {
  readonly kind: 'equation';
  readonly name: string | undefined;
  readonly sides: readonly Answer[];
}

/** An inequality: its sides and the signs between them. */
export interface Inequality {
  readonly kind: 'inequality';
  readonly signs: readonly string[];
  readonly sides: readonly Answer[];
}

/** Text that is not math, in lower case. */
interface PlainText {
  readonly kind: 'text';
  readonly text: string;
}

/**
 * Returns the possible readings of an answer, the most likely one first. For example, `100,200` may
 * be a number, or a list of two numbers. The result is never empty.
 * @param text at most `maxAnswerLength` characters
 */
export function readAnswer(text: string): readonly [Answer, ...Answer[]] {
  const grouped = tokenize(text);
  const apart = tokenize(text, false);
  const same = grouped.length === apart.length;
  return same ? [read(grouped)] : [read(grouped), read(apart)];
}

/** Returns true if every part of the answer could be parsed. */
export function isMath(answer: Answer): boolean {
  switch (answer.kind) {
    case 'text':
      return false;
    case 'quantity':
      return true;
    case 'group':
      return answer.items.every(isMath);
    case 'equation':
    case 'inequality':
      return answer.sides.every(isMath);
  }
}

/**
 * Functions that try to read tokens as an answer of one kind, in the order in which they are tried.
 * Operators that bind most weakly come first.
 */
const readers: readonly ((tokens: readonly Token[]) => Answer | undefined)[] = [
  readNamedSet,
  readList,
  readRelation,
  readUnion,
  readMatrix,
  readBracketed,
  readBothSigns,
  readQuantity,
  readRatio,
];

function read(tokens: readonly Token[]): Answer {
  for (const reader of readers) {
    const answer = reader(tokens);
    if (answer) return answer;
  }
  return { kind: 'text', text: tokens.map(({ text }) => text.toLowerCase()).join(' ') };
}

/** Reads the empty set and the set of all real numbers. */
function readNamedSet(tokens: readonly Token[]): Answer | undefined {
  const [token, ...more] = tokens;
  if (more.length > 0) return undefined;
  if (token?.text === '\\emptyset') return { kind: 'group', shape: 'set', items: [] };
  return token?.text === '\\reals'
    ? { kind: 'group', shape: '(,)', items: [infinity('-'), infinity('')] }
    : undefined;
}

/** Reads a list such as `1, 2 and 3`. */
function readList(tokens: readonly Token[]): Answer | undefined {
  const isSeparator = ({ kind, text }: Token): boolean =>
    kind === 'mark' ? text === ',' || text === ';' : kind === 'word' && /^(?:and|or)$/i.test(text);
  const parts = splitAt(tokens, isSeparator);
  if (parts.length < 2) return undefined;
  const items = parts.filter((part) => part.length > 0);
  return items.length > 0 ? group('list', items.map(read)) : undefined;
}

/** Reads `1 \pm 2` as a list of two values. */
function readBothSigns(tokens: readonly Token[]): Answer | undefined {
  if (!tokens.some(({ text }) => text === '\\pm' || text === '\\mp')) return undefined;
  const choose = (plusOrMinus: string, minusOrPlus: string): readonly Token[] =>
    tokens.map((token) => {
      if (token.text === '\\pm') return { ...token, kind: 'mark', text: plusOrMinus };
      return token.text === '\\mp' ? { ...token, kind: 'mark', text: minusOrPlus } : token;
    });
  return group('list', [read(choose('+', '-')), read(choose('-', '+'))]);
}

/** Reads a union such as `(-\infty, 1) \cup (2, 3]`. */
function readUnion(tokens: readonly Token[]): Answer | undefined {
  const parts = splitAt(tokens, ({ text }) => text === '\\cup');
  return parts.length > 1 && parts.every((part) => part.length > 0)
    ? group('union', parts.map(read))
    : undefined;
}

/** Reads a ratio such as `3 : 4`. */
function readRatio(tokens: readonly Token[]): Answer | undefined {
  const parts = splitAt(tokens, ({ text }) => text === ':');
  return parts.length > 1 && parts.every((part) => part.length > 0)
    ? group('ratio', parts.map(read))
    : undefined;
}

function readMatrix(tokens: readonly Token[]): Answer | undefined {
  if (tokens[0]?.text !== '\\begin{matrix}' || closing(tokens) !== tokens.length - 1)
    return undefined;
  const rows = splitAt(tokens.slice(1, -1), ({ text }) => text === '\\\\').filter(
    (row) => row.length > 0,
  );
  const cells = rows.map((row) => splitAt(row, ({ text }) => text === '&').map(read));
  return group(
    'matrix',
    cells.map((row) => group('row', row)),
  );
}

/**
 * Reads items in brackets, such as `(1, 2)`, `[1, 2)` and `\{1, 2\}`. Drops brackets around a
 * single item, except those of a set.
 */
function readBracketed(tokens: readonly Token[]): Answer | undefined {
  const open = tokens[0]?.text ?? '';
  if (!['(', '[', '{', '\\{'].includes(open) || closing(tokens) !== tokens.length - 1)
    return undefined;
  const parts = splitAt(tokens.slice(1, -1), ({ text }) => text === ',' || text === ';');
  const items = parts.map(read);
  if (open === '\\{' || (open === '{' && items.length > 1))
    return group('set', parts[0].length === 0 ? [] : items);
  return items.length === 1
    ? items[0]
    : { kind: 'group', shape: `${open},${tokens.at(-1)?.text}`, items };
}

const relationSigns: ReadonlyMap<string, string> = new Map([
  ['=', '='],
  ['\\approx', '='],
  ['\\in', '\\in'],
  ['<', '<'],
  ['>', '>'],
  ['\\le', '\\le'],
  ['\\ge', '\\ge'],
  ['\\ne', '\\ne'],
]);

function readRelation(tokens: readonly Token[]): Answer | undefined {
  const signs = topLevel(tokens).flatMap(([, { text }]) => relationSigns.get(text) ?? []);
  const sides = splitAt(tokens, ({ text }) => relationSigns.has(text));
  if (signs.length === 0 || sides.some((side) => side.length === 0)) return undefined;
  const [first, second] = sides;
  if (isLabel(first) || (signs.length === 1 && signs[0] === '\\in'))
    return second && sides.length === 2 ? read(second) : undefined;
  if (signs.every((sign) => sign === '=')) {
    const [name, lastName] = [nameOf(first), nameOf(sides.at(-1) ?? first)];
    return name === undefined && lastName !== undefined
      ? { kind: 'equation', name: lastName, sides: sides.toReversed().map(read) }
      : { kind: 'equation', name, sides: sides.map(read) };
  }
  return readInequality(signs, sides);
}

/**
 * Returns the text of a side of an equation if it is a name: a variable, `f(x)`, `f^{-1}(x)`, `y'`,
 * a tuple of variables, or two or more points with the signs around them, such as `|AB|` or `\angle
 * ABC`. Otherwise returns undefined.
 */
function nameOf(side: readonly Token[]): string | undefined {
  const shape = side
    .map(({ kind, text }) =>
      kind === 'symbol' || (kind === 'command' && !notNames.has(text)) ? 'x' : text,
    )
    .join('');
  const isName =
    /^x(?:\^\{-1\}|'+)?(?:\(x\))?$|^\(x(?:,x)+\)$|^\|?(?:x?\\angle|\\triangle|\\overline)?\{?(?:x|[A-Z]{2,4})\}?\|?$/.test(
      shape,
    );
  return isName ? side.map(({ text }) => text).join('') : undefined;
}

const notNames = new Set(['\\pi', '\\angle', '\\triangle', '\\overline']);

/**
 * Returns true if a side of an equation consists of words that describe the value, as in `Total
 * area = 5`.
 */
const isLabel = (side: readonly Token[]): boolean =>
  side.every(({ kind }) => kind === 'word' || kind === 'symbol') &&
  side.some(({ kind, text }) => kind === 'word' && text.length > 3);

const mirrored: Readonly<Record<string, string>> = {
  '>': '<',
  '\\ge': '\\le',
  '<': '>',
  '\\le': '\\ge',
};

/**
 * Reads an inequality. If all its signs are `>` or `≥`, it is reversed, so that its sides increase
 * from left to right. If it bounds a single variable by numbers, the result is an interval.
 */
function readInequality(
  givenSigns: readonly string[],
  givenSides: readonly (readonly Token[])[],
): Answer {
  const turn = givenSigns.every((sign) => sign === '>' || sign === '\\ge');
  const signs = turn ? givenSigns.toReversed().map((sign) => mirrored[sign] ?? sign) : givenSigns;
  const sides = turn ? givenSides.toReversed() : givenSides;
  const answers = sides.map(read);
  const rises = signs.every((sign) => sign === '<' || sign === '\\le');
  return (
    (rises ? intervalOf(signs, answers) : undefined) ?? {
      kind: 'inequality',
      signs,
      sides: answers,
    }
  );
}

function intervalOf(signs: readonly string[], sides: readonly Answer[]): Group | undefined {
  const place = sides.findIndex(
    (side) =>
      side.kind === 'quantity' &&
      side.expression.kind === 'symbol' &&
      variablesOf(side.expression).size > 0,
  );
  const bounds = sides.filter((_, index) => index !== place);
  const areNumbers = bounds.every(
    (side) => side.kind === 'quantity' && variablesOf(side.expression).size === 0,
  );
  if (place < 0 || !areNumbers || sides.length > 3 || (sides.length === 3 && place !== 1))
    return undefined;
  const [low, high] = [sides[place - 1], sides[place + 1]];
  const open = low && signs[place - 1] === '\\le' ? '[' : '(';
  const close = high && signs[place] === '\\le' ? ']' : ')';
  return {
    kind: 'group',
    shape: `${open},${close}`,
    items: [low ?? infinity('-'), high ?? infinity('')],
  };
}

const infinity = (sign: string): Answer => readAnswer(`${sign}\\infty`)[0];

/**
 * Creates a group. If the shape is a list or set, items that are lists are replaced by their items.
 * A list of one item is replaced by the item.
 */
function group(shape: GroupShape, items: readonly Answer[]): Answer {
  const isFlat = shape === 'list' || shape === 'set';
  const flat = isFlat
    ? items.flatMap((item) =>
        item.kind === 'group' && item.shape === 'list' ? item.items : [item],
      )
    : items;
  const [first, ...more] = flat;
  return shape === 'list' && first && more.length === 0
    ? first
    : { kind: 'group', shape, items: flat };
}

const openers = new Set(['(', '[', '{', '\\{', '\\begin{matrix}']);
const closers = new Set([')', ']', '}', '\\}', '\\end{matrix}']);

/** Returns the tokens outside of all brackets, with their indices. */
function topLevel(tokens: readonly Token[]): readonly (readonly [number, Token])[] {
  const found: (readonly [number, Token])[] = [];
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    if (openers.has(token.text)) depth++;
    else if (closers.has(token.text)) depth--;
    else if (depth === 0) found.push([index, token]);
  }
  return found;
}

/** Returns the index of the bracket that closes the one at index 0, or -1 if there is none. */
function closing(tokens: readonly Token[]): number {
  let depth = 0;
  return tokens.findIndex(({ text }) => {
    depth += openers.has(text) ? 1 : closers.has(text) ? -1 : 0;
    return depth === 0;
  });
}

/**
 * Returns the parts between separators outside of all brackets. Returns a single part if there is
 * no separator.
 */
function splitAt(
  tokens: readonly Token[],
  isSeparator: (token: Token) => boolean,
): readonly [readonly Token[], ...(readonly Token[])[]] {
  const ends = topLevel(tokens).flatMap(([index, token]) => (isSeparator(token) ? index : []));
  const rest = ends.map((end, i) => tokens.slice(end + 1, ends[i + 1]));
  return [tokens.slice(0, ends[0]), ...rest];
}
