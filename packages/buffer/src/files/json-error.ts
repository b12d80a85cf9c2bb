/**
 * Where a text stops being JSON, and why. `JSON.parse` says so for some mistakes only, in words
 * that change with its version.
 */

export interface JsonMistake {
  /**
   * Index of the first character that cannot be there, or the text's length when it ends too early.
   */
  readonly offset: number;
  /** `expected a comma or "}", found "b"` */
  readonly problem: string;
}

/** The first mistake in `text`, or `undefined` when it is JSON (RFC 8259). */
export function findJsonMistake(text: string): JsonMistake | undefined {
  const scanner: Scanner = { text, at: 0, expected: '' };
  const whole =
    scanValue(scanner) &&
    (skipSpace(scanner), scanner.at === text.length || fail(scanner, 'nothing after the value'));
  return whole
    ? undefined
    : { offset: scanner.at, problem: `expected ${scanner.expected}, found ${describeAt(scanner)}` };
}

/**
 * Every `scan...` moves behind what it names and returns true, or stops at the mistake and returns
 * false.
 */
interface Scanner {
  readonly text: string;
  at: number;
  expected: string;
}

function fail(scanner: Scanner, expected: string): false {
  scanner.expected = expected;
  return false;
}

function describeAt({ text, at }: Scanner): string {
  if (at >= text.length) return 'the end of the text';
  const word =
    /^[\w.+-]{1,20}/.exec(text.slice(at, at + 20))?.[0] ??
    String.fromCodePoint(text.codePointAt(at)!);
  return JSON.stringify(word);
}

function skipSpace(scanner: Scanner): void {
  while (' \t\r\n'.includes(scanner.text.charAt(scanner.at) || 'end')) scanner.at++;
}

function skipPattern(scanner: Scanner, pattern: RegExp): boolean {
  const sticky = new RegExp(pattern, 'y');
  sticky.lastIndex = scanner.at;
  scanner.at += sticky.exec(scanner.text)?.[0].length ?? 0;
  return sticky.lastIndex > 0 && sticky.lastIndex === scanner.at;
}

const literal = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/;
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/;

function scanValue(scanner: Scanner): boolean {
  skipSpace(scanner);
  const first = scanner.text.charAt(scanner.at);
  if (first === '{') return scanList(scanner, '}', scanMember);
  if (first === '[') return scanList(scanner, ']', scanValue);
  if (first === '"') return scanString(scanner);
  return skipPattern(scanner, literal) || fail(scanner, 'a value');
}

function scanList(
  scanner: Scanner,
  end: '}' | ']',
  scanItem: (scanner: Scanner) => boolean,
): boolean {
  scanner.at++;
  skipSpace(scanner);
  if (scanner.text.charAt(scanner.at) !== end) {
    do {
      if (!scanItem(scanner)) return false;
      skipSpace(scanner);
    } while (scanner.text.charAt(scanner.at) === ',' && ++scanner.at > 0);
  }
  if (scanner.text.charAt(scanner.at) !== end) return fail(scanner, `a comma or "${end}"`);
  scanner.at++;
  return true;
}

function scanMember(scanner: Scanner): boolean {
  skipSpace(scanner);
  if (scanner.text.charAt(scanner.at) !== '"') return fail(scanner, 'a key in double quotes');
  if (!scanString(scanner)) return false;
  skipSpace(scanner);
  if (scanner.text.charAt(scanner.at) !== ':') return fail(scanner, 'a colon after the key');
  scanner.at++;
  return scanValue(scanner);
}

function scanString(scanner: Scanner): boolean {
  for (scanner.at++; scanner.text.charAt(scanner.at) !== '"';) {
    const char = scanner.text.charAt(scanner.at);
    if (char < ' ') return fail(scanner, 'a closing double quote');
    if (char !== '\\') scanner.at++;
    else if (!skipPattern(scanner, escape)) return fail(scanner, 'an escape that JSON knows');
  }
  scanner.at++;
  return true;
}
