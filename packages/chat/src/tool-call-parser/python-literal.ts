/** Reads Python literals as values that can be printed as JSON. */
import { Float, isDict, isList, typeName, type Value } from '../jinja/values.js';

/** Reads Python literals, one after the other, from a position in a text on. */
export class PythonReader {
  readonly #text: string;
  readonly #quotes: 'python' | 'unescaped';
  #at: number;

  /**
   * Creates a reader.
   * @param at index at which reading begins
   * @param quotes `unescaped` for strings that contain quotes of their own kind without escapes, as
   * some templates print them: a quote then only ends a string if it is followed by what may follow
   * a value
   */
  constructor(text: string, at = 0, quotes: 'python' | 'unescaped' = 'python') {
    this.#text = text;
    this.#quotes = quotes;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  get done(): boolean {
    this.#skipSpace();
    return this.#at >= this.#text.length;
  }

  /** If the text continues with `expected`, reads it and returns true. */
  take(expected: string): boolean {
    this.#skipSpace();
    const found = this.#text.startsWith(expected, this.#at);
    if (found) this.#at += expected.length;
    return found;
  }

  /**
   * Reads `expected`.
   * @throws SyntaxError if other text follows
   */
  expect(expected: string): void {
    if (!this.take(expected)) throw new SyntaxError(`expected ${expected} at ${this.#at}`);
  }

  /**
   * Reads a name. Unlike in Python, it may contain hyphens and dots, because names of tools may.
   */
  name(): string {
    this.#skipSpace();
    return this.#match(/[\p{L}\p{N}_][\p{L}\p{N}_.-]*/uy);
  }

  /**
   * Reads items that are separated by commas, up to the closing bracket; a comma after the last
   * item is allowed.
   */
  items(close: string, read: () => void): void {
    while (!this.take(close)) {
      read();
      if (this.take(',')) continue;
      this.expect(close);
      return;
    }
  }

  /**
   * Reads a literal.
   * @throws SyntaxError for anything but a literal
   */
  value(): Value {
    this.#skipSpace();
    const first = this.#text[this.#at] ?? '';
    if (first === '[') return this.#list();
    if (first === '(') return this.#parentheses();
    if (first === '{') return this.#dict();
    if (first === "'" || first === '"') return this.#strings();
    return /[-+.\d]/.test(first) ? this.#number() : constant(this.name());
  }

  #list(): Value {
    const items: Value[] = [];
    this.#at++;
    this.items(']', () => items.push(this.value()));
    return items;
  }

  /** Reads a tuple, or a single value in parentheses if there is no comma. */
  #parentheses(): Value {
    this.#at++;
    if (this.take(')')) return [];
    const first = this.value();
    if (this.take(')')) return first;
    this.expect(',');
    const rest: Value[] = [];
    this.items(')', () => rest.push(this.value()));
    return [first, ...rest];
  }

  #dict(): Value {
    const entries = new Map<Value, Value>();
    this.#at++;
    this.items('}', () => {
      const key = this.value();
      if (isList(key) || isDict(key)) throw new SyntaxError(`a key is a ${typeName(key)}`);
      this.expect(':');
      entries.set(key, this.value());
    });
    return entries;
  }

  /**
   * Reads adjacent string literals and joins them. Unlike in Python, strings in any quotes may
   * contain line breaks, because models write them.
   */
  #strings(): string {
    let text = '';
    for (this.#skipSpace(); /["']/.test(this.#text[this.#at] ?? ''); this.#skipSpace()) {
      const quote = this.#match(/"""|'''|["']/y);
      const from = this.#at;
      while (!this.#endsWith(quote)) {
        if (this.#at >= this.#text.length) throw new SyntaxError(`no ${quote} after ${from}`);
        this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
      }
      text += unescaped(this.#text.slice(from, this.#at));
      this.#at += quote.length;
    }
    return text;
  }

  #endsWith(quote: string): boolean {
    if (!this.#text.startsWith(quote, this.#at)) return false;
    if (this.#quotes === 'python') return true;
    const valueEnd = /\s*(?:[,)\]}:]|$)/y;
    valueEnd.lastIndex = this.#at + quote.length;
    return valueEnd.test(this.#text);
  }

  #number(): Value {
    const text = this.#match(/[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y).replaceAll('_', '');
    const value = Number(text);
    if (!Number.isFinite(value)) throw new SyntaxError(`${text} is not finite`);
    if (/[.eE]/.test(text)) return new Float(value);
    return Number.isSafeInteger(value) ? value : BigInt(text);
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw new SyntaxError(`not a literal at ${this.#at}`);
    this.#at += found.length;
    return found;
  }
}

const constants: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['None', null],
  ['True', true],
  ['False', false],
  // JSON's spellings, which models mix with Python's.
  ['null', null],
  ['true', true],
  ['false', false],
]);

function constant(name: string): Value {
  if (!constants.has(name)) throw new SyntaxError(`${name} is not a literal`);
  return constants.get(name);
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '0': '\0',
  '\n': '',
};

function unescaped(text: string): string {
  return text.replaceAll(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([^]))/g,
    (whole, x?: string, u?: string, long?: string, character?: string) => {
      const code = x ?? u ?? long;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      if (character === "'" || character === '"' || character === '\\') return character;
      return escapes[character ?? ''] ?? whole;
    },
  );
}
