/**
 * Splits an answer, in LaTeX or plain text, into tokens. Works in one pass, because a rule looks
 * ahead only at text that it then consumes.
 */
import {
  characterTexts,
  commandTokens,
  functionNames,
  plainCommands,
  superscripts,
  wrapperCommands,
} from './vocabulary.js';

export interface Token {
  /**
   * `number`: digits without separators. `symbol`: a variable with its subscript. `word`: letters
   * that are not one variable. `command`: a LaTeX command. `mark`: any other single character, or
   * `\\`, `\{`, `\}`, or the beginning or end of a matrix.
   */
  readonly kind: 'number' | 'symbol' | 'word' | 'command' | 'mark';
  readonly text: string;
  /**
   * True if the token follows white space or is inside \text{..}. This distinguishes `5 m` (five
   * metres) from `5m` (which may be five times m).
   */
  readonly apart: boolean;
}

/**
 * Splits an answer into tokens. Drops dollar signs, spacing, fonts, sizes, thousands separators,
 * and marks around the whole answer.
 * @param grouping true if a comma before three digits is a thousands separator; between brackets,
 * only if it cannot separate items
 */
export function tokenize(text: string, grouping = true): readonly Token[] {
  const scanner = new Scanner(foldCharacters(text), grouping);
  while (!scanner.atEnd()) rules.some((rule) => rule(scanner));
  return trimMarks(scanner.tokens);
}

/**
 * Tries to consume a token at the scanner's position. Returns false if the rule does not match
 * there.
 */
type Rule = (scanner: Scanner) => boolean;

class Scanner {
  readonly tokens: Token[] = [];
  /**
   * For each open brace, true if it belongs to a command such as \text, of which only the content
   * counts. The closing brace is then dropped as well.
   */
  readonly braces: boolean[] = [];
  readonly grouping: boolean;
  brackets = 0;
  apart = false;
  readonly #source: string;
  #at = 0;

  constructor(source: string, grouping: boolean) {
    this.#source = source;
    this.grouping = grouping;
  }

  atEnd(): boolean {
    return this.#at >= this.#source.length;
  }

  /** Matches a sticky pattern at the current position, and moves to the end of the match. */
  take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#source);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }

  push(kind: Token['kind'], text: string): true {
    if (kind === 'mark')
      this.brackets += '([{\\{'.includes(text) ? 1 : ')]}\\}'.includes(text) ? -1 : 0;
    this.tokens.push({ kind, text, apart: this.apart || this.braces.includes(true) });
    this.apart = false;
    return true;
  }

  separate(): true {
    this.apart = true;
    return true;
  }
}

const exponent = String.raw`(?:[eE][+-]?\d{1,4}(?![\p{L}\d]))?`;
const fraction = String.raw`(?:\.\d*\\overline\{\d+\}|\.\d+)?`;
/** Matches separators that can only be thousands separators: `1{,}000`, `1\,000`, `1,\!000`. */
const separator = String.raw`(?:\{,\}|\\,|,\\!)`;
const thousands = String.raw`(?:(?:${separator}\d{3}(?!\d))+)?`;
const plain = String.raw`\d+${thousands}${fraction}${exponent}|\.\d+${exponent}`;
const ungrouped = new RegExp(plain, 'uy');
const grouped = new RegExp(
  String.raw`\d{1,3}(?:(?:,|${separator})\d{3}(?!\d))+${fraction}|${plain}`,
  'uy',
);
/**
 * Matches a number in brackets with a thousands separator. The comma before 000 in (1,000,2) must
 * be one, because no number begins with 000.
 */
const groupedInBrackets = new RegExp(
  String.raw`\d{1,3}(?:,\d{3}(?!\d))*,0\d\d(?!\d)(?:,\d{3}(?!\d))*${fraction}|${plain}`,
  'uy',
);
const subscript = /_(?:\{([^{}]*)\}|([A-Za-z0-9]))/y;

const relations: Readonly<Record<string, string>> = { '<=': '\\le', '>=': '\\ge', '!=': '\\ne' };

const rules: readonly Rule[] = [
  // White space, spacing commands, and signs that only affect style.
  (scanner) =>
    scanner.take(/(?:\s|\\[,;:! ()[\]$"'`]|[~$€£¥`"“”])+/y) !== null && scanner.separate(),
  takeNumber,
  takeOrdinal,
  (scanner) => takeName(scanner, scanner.take(/\p{L}+/uy)?.[0]),
  (scanner) =>
    scanner.take(/\^(?:\{\s*\\circ\s*\}|\\circ(?![A-Za-z]))/y) !== null &&
    scanner.push('mark', '°'),
  takeMatrixEnd,
  (scanner) =>
    scanner.take(/\\mathbb[ \t]*(?:\{R\}|R(?![A-Za-z]))/y) !== null &&
    scanner.push('command', '\\reals'),
  takeCommand,
  (scanner) => {
    const escaped = scanner.take(/\\[\\{}]/y);
    return escaped !== null && scanner.push('mark', escaped[0]);
  },
  (scanner) => scanner.take(/\*\*/y) !== null && scanner.push('mark', '^'),
  (scanner) => {
    const relation = scanner.take(/<=|>=|!=/y);
    return relation !== null && scanner.push('command', relations[relation[0]]!);
  },
  // Any other backslash is dropped.
  (scanner) => scanner.take(/\\/y) !== null,
  takeMark,
];

function takeNumber(scanner: Scanner): boolean {
  const pattern = !scanner.grouping
    ? ungrouped
    : scanner.brackets > 0
      ? groupedInBrackets
      : grouped;
  const digits = scanner.take(pattern)?.[0].replace(/,\\!|\{,\}|\\,|,/g, '');
  return digits !== undefined && scanner.push('number', digits + takeSubscript(scanner));
}

const ordinalWord = String.raw`(?:st|nd|rd|th)(?!\p{L})`;
const ordinal = String.raw`(?:${ordinalWord}|\\(?:text|textrm|mathrm|mbox) {0,4}\{ {0,4}${ordinalWord} {0,4}\}|\\rm {1,4}${ordinalWord})`;
const ordinalEnding = new RegExp(
  String.raw`\^? {0,4}(?:${ordinal}|\{ {0,4}${ordinal} {0,4}\})`,
  'uy',
);

/** Drops the ending of an ordinal number, as in `14th` or `14^{\text{th}}`. */
function takeOrdinal(scanner: Scanner): boolean {
  const before = scanner.tokens.at(-1);
  return before?.kind === 'number' && !scanner.apart && scanner.take(ordinalEnding) !== null;
}

function takeName(scanner: Scanner, name: string | undefined): boolean {
  if (name === undefined) return false;
  const command = plainCommands.get(name) ?? (functionNames.has(name) ? `\\${name}` : undefined);
  if (command !== undefined) return scanner.push('command', command);
  return name.length > 1
    ? scanner.push('word', name)
    : scanner.push('symbol', name + takeSubscript(scanner));
}

/**
 * Consumes a subscript, and returns it in a uniform spelling, such as `_{12}`. Returns an empty
 * string if there is none.
 */
function takeSubscript(scanner: Scanner): string {
  const match = scanner.take(subscript);
  return match ? `_{${(match[1] ?? match[2] ?? '').replace(/\s/g, '')}}` : '';
}

/** Consumes the beginning or end of a matrix with any delimiters, except those of a determinant. */
function takeMatrixEnd(scanner: Scanner): boolean {
  const match = scanner.take(
    /\\(begin|end)\{(?:[pbB]?(?:small)?matrix|array)\}(?:\{[clr| ]{1,40}\})?/y,
  );
  return match !== null && scanner.push('mark', `\\${match[1]}{matrix}`);
}

function takeCommand(scanner: Scanner): boolean {
  const name = scanner.take(/\\([A-Za-z]+)/y)?.[1];
  if (name === undefined) return false;
  if (wrapperCommands.has(name)) {
    if (scanner.take(/[ \t]*\{/y)) scanner.braces.push(true);
    return scanner.separate();
  }
  const token = commandTokens.get(name);
  if (token === '') return scanner.separate();
  if (token !== undefined)
    return scanner.push(token.length > 2 && token.startsWith('\\') ? 'command' : 'mark', token);
  // Some data sets omit the space after the command. \quadx means a space and an x.
  const glued = /^q?quad(.+)/.exec(name)?.[1];
  if (glued !== undefined) return scanner.separate() && takeName(scanner, glued);
  return scanner.push(
    'command',
    `\\${name}${functionNames.has(name) ? '' : takeSubscript(scanner)}`,
  );
}

function takeMark(scanner: Scanner): boolean {
  const mark = scanner.take(/[^]/uy)?.[0];
  if (mark === undefined) return false;
  if (mark === '{') scanner.braces.push(false);
  if (mark === '}' && scanner.braces.pop() === true) return scanner.separate();
  return scanner.push('mark', mark);
}

const raised = new RegExp(`[${superscripts}]+`, 'g');
const unraised = (character: string): string =>
  '0123456789-+'.charAt(superscripts.indexOf(character));

/**
 * Replaces characters that have several spellings with a uniform one. Unicode compatibility forms
 * (full width, styled letters) become plain characters.
 */
function foldCharacters(text: string): string {
  let folded = '';
  for (const character of text.replace(raised, (run) => `^{${run.replace(/[^]/g, unraised)}}`))
    folded += characterTexts.get(character) ?? foldCompatible(character);
  return folded;
}

function foldCompatible(character: string): string {
  const folded = character.normalize('NFKC');
  // NFKC replaces a few characters with whole phrases, which would make the text much longer.
  if (folded.length > 4) return character;
  // A fraction in one character is a separate number: 2⅙ is not 21/6.
  return folded.includes('\u2044') ? ` ${folded.replace('\u2044', '/')}` : folded;
}

/**
 * Returns true if the exclamation mark at index `at` is a factorial, as in `5!` and `(n+1)!`, but
 * not in `Yes!`.
 */
function isFactorial(tokens: readonly Token[], at: number): boolean {
  const before = tokens.slice(0, at).findLast(({ text }) => text !== '!');
  return (
    tokens[at]?.text === '!' &&
    before !== undefined &&
    (before.kind === 'number' || before.kind === 'symbol' || ')]}|'.includes(before.text))
  );
}

/**
 * Drops marks at both ends that belong to the sentence, the line or Markdown rather than to the
 * answer, as in `= 5`, `**5**`, `5.`, `5\\\\`.
 */
function trimMarks(tokens: readonly Token[]): readonly Token[] {
  const isLoose = (token: Token | undefined): boolean =>
    token?.kind === 'mark' && (token.text === '\\\\' || '^*.,;:!?='.includes(token.text));
  let start = 0;
  let end = tokens.length;
  while (start < end && (isLoose(tokens[start]) || tokens[start]?.text === '\\approx')) start++;
  while (end > start && isLoose(tokens[end - 1]) && !isFactorial(tokens, end - 1)) end--;
  return tokens.slice(start, end);
}
