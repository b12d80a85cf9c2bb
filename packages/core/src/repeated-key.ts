/** Key that occurs twice in an object of a JSON text. */
export interface RepeatedKey {
  readonly key: string;
  /** Index in the text at which the key occurs again. */
  readonly offset: number;
}

/**
 * Returns the first key that occurs twice in one object of a JSON text, or undefined. `JSON.parse`
 * keeps only the last value of such a key, without an error.
 */
export function repeatedKey(json: string): RepeatedKey | undefined {
  const open: (Set<string> | undefined)[] = [];
  const tokens = /["{}[\]]/g;
  const colon = /\s*:/y;
  for (let found = tokens.exec(json); found; found = tokens.exec(json)) {
    const [token] = found;
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token !== '"') open.pop();
    else {
      // Braces and brackets inside strings do not count.
      const offset = found.index;
      const end = stringEnd(json, offset);
      if (end < 0) return undefined;
      tokens.lastIndex = colon.lastIndex = end;
      const keys = open.at(-1);
      if (!keys || !colon.test(json)) continue;
      const key = JSON.parse(json.slice(offset, end)) as string;
      if (keys.has(key)) return { key, offset };
      keys.add(key);
    }
  }
  return undefined;
}

/**
 * Returns the index of the quote that ends the JSON string at `at`, or -1 if the string does not
 * end. Searches for quotes instead of reading every character, because a request may have megabytes
 * in one string. A regular expression that matches whole strings would exhaust the stack on long
 * ones.
 */
export function stringEnd(text: string, at: number): number {
  for (let i = text.indexOf('"', at + 1); i >= 0; i = text.indexOf('"', i + 1)) {
    let backslashes = 0;
    while (text[i - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return i + 1;
  }
  return -1;
}
