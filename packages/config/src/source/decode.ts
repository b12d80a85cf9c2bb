/** Decodes bytes to text, and finds the line of the first byte that is not UTF-8. */
import type { LocatedProblem } from './problem.js';

export function decodeUtf8(bytes: Uint8Array): string | LocatedProblem {
  const text = tryDecode(bytes);
  if (text !== undefined) return text;
  const utf16 =
    (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  let start = 0;
  for (let line = 1; ; line++) {
    const end = bytes.indexOf(10, start);
    const row = bytes.subarray(start, end < 0 ? bytes.length : end);
    if (tryDecode(row) === undefined || end < 0) {
      const found = utf16 ? 'UTF-16' : 'not UTF-8';
      return {
        at: { line, column: validLength(row) + 1 },
        key: [],
        message: `The file is ${found}. Save it as UTF-8 text.`,
      };
    }
    start = end + 1;
  }
}

function tryDecode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the number of characters before the first invalid byte. */
function validLength(row: Uint8Array): number {
  for (let length = row.length; length > 0; length--) {
    const text = tryDecode(row.subarray(0, length));
    if (text !== undefined) return text.length;
  }
  return 0;
}
