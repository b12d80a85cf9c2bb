/**
 * Finds the first position at which a text is not valid JSON, or at which parsing the text would
 * lose a value, and describes the problem.
 */
import { createRequire } from 'node:module';
import { repeatedKey } from '@trinity-rft/core/support';
import type * as JsoncParser from 'jsonc-parser';

export interface JsonMistake {
  /**
   * Index at which the first wrong token starts, or the length of the text if it ends too early.
   */
  readonly offset: number;
  /** Description such as `expected a comma or "}", found "b"`. */
  readonly problem: string;
}

/** Description of what the parser expected, by error code. */
const expectedBy: Readonly<Record<string, string>> = {
  InvalidSymbol: 'a JSON value or a key in double quotes',
  InvalidNumberFormat: 'a number',
  PropertyNameExpected: 'a key in double quotes',
  ValueExpected: 'a value',
  ColonExpected: 'a colon after the key',
  CommaExpected: 'a comma',
  CloseBraceExpected: 'a comma or "}"',
  CloseBracketExpected: 'a comma or "]"',
  EndOfFileExpected: 'nothing after the value',
  InvalidCommentToken: 'no comments',
  UnexpectedEndOfComment: 'no comments',
  UnexpectedEndOfString: 'a closing double quote',
  UnexpectedEndOfNumber: 'more digits',
  InvalidUnicode: 'four hexadecimal digits after \\u',
  InvalidEscapeCharacter: 'an escape that JSON knows',
  InvalidCharacter: 'control characters as escapes',
};

/**
 * Returns the first mistake in `text`. Returns undefined if the text is JSON (RFC 8259) or is
 * nested too deeply to parse, or if the program is a bundle without the parser.
 */
export function findJsonMistake(text: string): JsonMistake | undefined {
  try {
    // Loaded at the first error, because bundles for Node fail at the start if they contain it.
    const { parse, printParseErrorCode } = createRequire(import.meta.url)(
      'jsonc-parser',
    ) as typeof JsoncParser;
    const errors: JsoncParser.ParseError[] = [];
    parse(text, errors, { disallowComments: true });
    const [first] = errors;
    if (!first) return undefined;
    const { error, offset, length } = first;
    const expected = expectedBy[printParseErrorCode(error)] ?? 'JSON';
    const found = describeToken(text.slice(offset, offset + Math.min(length, 20)));
    return { offset, problem: `expected ${expected}, found ${found}` };
  } catch {
    return undefined;
  }
}

function describeToken(token: string): string {
  if (token === '') return 'the end of the text';
  const isPlainString = token.startsWith('"') && !/[\p{Cc}\\]/u.test(token);
  return isPlainString ? token : JSON.stringify(token);
}

/**
 * Returns the first position in a valid JSON text at which parsing would lose a value: a repeated
 * key, or a number that is too large. Returns undefined if there is none.
 */
export function findJsonLoss(text: string): JsonMistake | undefined {
  const repeated = repeatedKey(text);
  return repeated
    ? {
        offset: repeated.offset,
        problem: `expected each key once, found ${JSON.stringify(repeated.key)} again`,
      }
    : infiniteNumber(text);
}

/** Finds a number, written with a fraction or an exponent, that is too large for a double. */
function infiniteNumber(text: string): JsonMistake | undefined {
  if (!/\d{309}|\d[eE]\+?\d{3}/.test(text)) return undefined;
  let isInString = false;
  for (const { 0: token, index } of text.matchAll(/\\.|"|-?\d[\d.eE+-]*/g))
    if (token === '"') isInString = !isInString;
    else if (!isInString && /[.eE]/.test(token) && !Number.isFinite(Number(token)))
      return { offset: index, problem: `expected a number up to 1.797e308, found ${token}` };
  return undefined;
}
