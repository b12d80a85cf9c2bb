/** Finds the position at which a string stops being valid JSON. */
import { createRequire } from 'node:module';
import type * as JsoncParser from 'jsonc-parser';

/**
 * Maximum length of a string to search, in characters. It is limited because a malicious string may
 * have an error at every character.
 */
const maxLength = 100_000;

/**
 * Returns the position of the first error as text, such as ` (line 1, column 9)`. Returns an empty
 * string if the position is unknown, for example because the string is too long.
 */
export function jsonErrorPosition(text: string): string {
  if (text.length > maxLength) return '';
  const errors: JsoncParser.ParseError[] = [];
  try {
    // Loaded at the first error, because bundles for Node fail at the start if they contain it.
    const { parse } = createRequire(import.meta.url)('jsonc-parser') as typeof JsoncParser;
    parse(text, errors, { disallowComments: true });
  } catch {
    // The text is nested too deeply for the parser, or the parser is not beside a bundle.
  }
  const [first] = errors;
  if (!first) return '';
  const lines = text.slice(0, first.offset).split('\n');
  return ` (line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1})`;
}
