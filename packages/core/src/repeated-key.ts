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
      tokens.lastIndex = colon.lastIndex = stringEnd(json, offset);
      const keys = open.at(-1);
      if (!keys || !colon.test(json)) continue;
      const key = JSON.parse(json.slice(offset, tokens.lastIndex)) as string;
      if (keys.has(key)) return { key, offset };
      keys.add(key);
    }
  }
  return undefined;
}

/**
 * Returns the index after the string that begins at `start`. A regular expression that matches whole
 * strings would exhaust the stack on long ones.
 */
function stringEnd(json: string, start: number): number {
  let quote = json.indexOf('"', start + 1);
  for (; quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let before = quote;
    while (json[before - 1] === '\\') before--;
    if ((quote - before) % 2 === 0) return quote + 1;
  }
  return json.length;
}
