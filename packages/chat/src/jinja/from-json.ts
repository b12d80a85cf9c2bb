/** Converts JSON strings and plain data to the values that Python's `json.loads` would return. */
import { Float, type Value } from './values.js';

/**
 * Parses a JSON string to Python's values. Unlike with `JSON.parse`, a number with a fraction or an
 * exponent is a float even if its value is whole, an int may have any size, and keys that look like
 * integers are not moved to the front.
 * @throws SyntaxError when the string is not JSON
 */
export function valueOfJson(text: string): Value {
  JSON.parse(text);
  return new Reader(text).value();
}

/** Reader for a string that is known to be valid JSON. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): Value {
    const first = this.#peek();
    if (first === '{') return this.#dict();
    if (first === '[') return this.#list();
    return first === '"' ? this.#string() : scalar(this.#match(/[^\s,\]}]+/y));
  }

  #dict(): Value {
    const entries = new Map<Value, Value>();
    this.#at++;
    while (this.#peek() !== '}') {
      if (this.#peek() === ',') this.#at++;
      this.#peek();
      const key = this.#string();
      this.#peek();
      this.#at++;
      entries.set(key, this.value());
    }
    this.#at++;
    return entries;
  }

  #list(): Value {
    const items: Value[] = [];
    this.#at++;
    while (this.#peek() !== ']') {
      if (this.#peek() === ',') this.#at++;
      items.push(this.value());
    }
    this.#at++;
    return items;
  }

  #string(): string {
    return JSON.parse(this.#match(/"[^"\\]*(?:\\.[^"\\]*)*"/y)) as string;
  }

  /** Returns the next character after white space, without consuming it. */
  #peek(): string | undefined {
    while (' \n\r\t'.includes(this.#text[this.#at] ?? '.')) this.#at++;
    return this.#text[this.#at];
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}

function scalar(text: string): Value {
  const value = JSON.parse(text) as number | boolean | null;
  if (typeof value !== 'number') return value;
  if (/[.eE]/.test(text)) return new Float(value);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/**
 * Converts plain JavaScript data to Python's values. A whole number becomes an int, because
 * JavaScript does not distinguish 1.0 from 1.
 */
export function valueOf(data: unknown): Value {
  if (data === null) return null;
  if (typeof data === 'number') return Number.isInteger(data) ? data : new Float(data);
  if (typeof data !== 'object') return data as Value;
  if (Array.isArray(data)) return data.map(valueOf);
  const entries = new Map<Value, Value>();
  for (const [key, value] of Object.entries(data)) {
    if (value !== undefined) entries.set(key, valueOf(value));
  }
  return entries;
}
