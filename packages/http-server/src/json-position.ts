/** Where a text stops being JSON. */
import { parse, type ParseError } from 'jsonc-parser';

/** Longer texts are not searched: a hostile one may have an error at every character. */
const maxLength = 100_000;

/** ` (line 1, column 9)` of the first wrong token, or nothing when it cannot be found cheaply. */
export function jsonErrorPosition(text: string): string {
  if (text.length > maxLength) return '';
  const errors: ParseError[] = [];
  try {
    parse(text, errors, { disallowComments: true });
  } catch {
    // Nested too deep for the parser.
  }
  const [first] = errors;
  if (!first) return '';
  const lines = text.slice(0, first.offset).split('\n');
  return ` (line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1})`;
}
