/**
 * Splits a JSON list into its items without loading the whole list, which may be larger than
 * memory.
 */
import type { FindEnd } from './read-pieces.js';

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

export interface ListScan {
  /**
   * Finds the positions at which the list is split: its brackets, and the commas between its items.
   */
  readonly findEnd: FindEnd;
  /** Returns true if the closing bracket of the list has been found. */
  readonly isClosed: () => boolean;
}

/**
 * Creates a scanner that splits a JSON list at bytes instead of characters. This is safe because in
 * UTF-8 the byte of a structural character never occurs inside another character.
 */
export function scanList(): ListScan {
  // Nesting depth, which is 1 between the items of the list.
  let depth = 0;
  let [inString, isEscaped, isClosed] = [false, false, false];
  /**
   * Returns the position of the string's closing quote, or the end of the chunk. Must be fast
   * because most bytes are inside strings.
   */
  const skipString = (chunk: Buffer, from: number): number => {
    for (let start = from; ;) {
      const found = chunk.indexOf(quote, start);
      const end = found < 0 ? chunk.length : found;
      let before = end;
      while (before > start && chunk[before - 1] === backslash) before--;
      const carried = before === start && isEscaped ? 1 : 0;
      isEscaped = (end - before + carried) % 2 === 1;
      if (found < 0) return end;
      if (!isEscaped) {
        inString = false;
        return end;
      }
      [isEscaped, start] = [false, end + 1];
    }
  };
  const findEnd: FindEnd = (chunk, from) => {
    for (let i = from; i < chunk.length && !isClosed; i++) {
      if (inString) {
        i = skipString(chunk, i);
        continue;
      }
      const byte = chunk[i]!;
      if (byte === quote) inString = true;
      else if (byte === openList || byte === openObject) {
        if (++depth === 1) return i;
      } else if (byte === closeList || (byte === closeObject && depth > 1)) {
        if (--depth > 0) continue;
        isClosed = true;
        return i;
      } else if (byte === comma && depth === 1) return i;
    }
    return -1;
  };
  return { findEnd, isClosed: () => isClosed };
}
