/**
 * Reads the arguments of Gemma's calls, `{key:value,...}`: keys without quotes, strings between
 * special quote marks, and nested objects and lists.
 */
import type { Value } from '../jinja/values.js';
import { convert, literal } from './typed-text.js';

export interface GemmaArguments {
  /** `cut` if the text ends within the arguments. */
  readonly kind: 'ended' | 'cut' | 'invalid';
  /**
   * Index after the arguments if `kind` is `ended`, otherwise the index at which reading failed.
   */
  readonly at: number;
  readonly args: ReadonlyMap<Value, Value>;
}

/**
 * Reads the object that begins at `at`.
 * @param quote quote mark before and after a string
 * @param typesOf returns the allowed types of an argument, or an empty list if any type is allowed
 */
export function readGemmaArguments(
  text: string,
  at: number,
  quote: string,
  typesOf: (key: string) => readonly string[],
): GemmaArguments {
  const reader = new Reader(text, at, quote);
  try {
    const args = reader.members(typesOf);
    return { kind: 'ended', at: reader.at, args };
  } catch {
    const kind = reader.at >= text.length ? 'cut' : 'invalid';
    return { kind, at: reader.at, args: new Map() };
  }
}

class Reader {
  readonly #text: string;
  readonly #quote: string;
  at: number;

  constructor(text: string, at: number, quote: string) {
    this.#text = text;
    this.at = at;
    this.#quote = quote;
  }

  members(typesOf: (key: string) => readonly string[] = () => []): ReadonlyMap<Value, Value> {
    const entries = new Map<Value, Value>();
    this.#items('{', '}', () => {
      const key = this.#key();
      entries.set(key, this.#value(typesOf(key)));
    });
    return entries;
  }

  /** Reads items that are separated by commas; a comma after the last item is allowed. */
  #items(open: string, close: string, read: () => void): void {
    this.#expect(open);
    while (!this.#take(close)) {
      read();
      if (this.#take(',')) continue;
      this.#expect(close);
      return;
    }
  }

  #key(): string {
    const key = this.#take(this.#quote) ? this.#string() : this.#match(/[^:,{}[\]]+/y).trim();
    this.#expect(':');
    return key;
  }

  #value(types: readonly string[]): Value {
    if (this.#take(this.#quote)) return convert(this.#string(), types);
    const first = this.#text[this.at];
    if (first === '{') return this.members();
    if (first === '[') {
      const items: Value[] = [];
      this.#items('[', ']', () => items.push(this.#value([])));
      return items;
    }
    const raw = this.#match(/[^,{}[\]]+/y).trim();
    if (types.length > 0) return convert(raw, types);
    const value = literal(raw);
    return value === undefined ? raw : value;
  }

  /** Reads a string after its opening quote mark, including the closing one. */
  #string(): string {
    const end = this.#text.indexOf(this.#quote, this.at);
    const value = this.#text.slice(this.at, end < 0 ? undefined : end);
    this.at = end < 0 ? this.#text.length : end + this.#quote.length;
    if (end < 0) throw new SyntaxError(`no ${this.#quote} after a string`);
    return value;
  }

  #take(expected: string): boolean {
    while (/\s/.test(this.#text[this.at] ?? '')) this.at++;
    const found = this.#text.startsWith(expected, this.at);
    if (found) this.at += expected.length;
    return found;
  }

  #expect(expected: string): void {
    if (!this.#take(expected)) throw new SyntaxError(`expected ${expected} at ${this.at}`);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw new SyntaxError(`no value at ${this.at}`);
    this.at += found.length;
    return found;
  }
}
