/** Grammar rules of JSON: white space, strings, numbers and any value. */
import {
  counted,
  literal,
  oneOf,
  repeated,
  type GrammarBuilder,
  type Sequence,
} from './grammar.js';

/**
 * Maximum number of digits on each side of the decimal point. There is a limit because an untrained
 * model might never stop writing digits.
 */
const maxDigits = 16;
const maxIndentation = 32;

/**
 * Returns the rule for white space between two tokens of JSON: nothing, one space, or a line break
 * with indentation.
 */
export const space = (grammar: GrammarBuilder): number =>
  grammar.once('space', () =>
    grammar.rule([
      [],
      literal(' '),
      [...literal('\n'), counted(grammar, literal(' '), 0, maxIndentation)],
    ]),
  );

export const string = (grammar: GrammarBuilder): number =>
  grammar.once('string', () =>
    grammar.rule([[...literal('"'), repeated(grammar, [character(grammar)]), ...literal('"')]]),
  );

export const integer = (grammar: GrammarBuilder): number =>
  grammar.once('integer', () => {
    const digits = [oneOf('19'), counted(grammar, [oneOf('09')], 0, maxDigits - 1)];
    return grammar.rule([literal('0'), digits, [...literal('-'), ...digits]]);
  });

export const number = (grammar: GrammarBuilder): number =>
  grammar.once('number', () => {
    const whole = grammar.rule([
      literal('0'),
      [oneOf('19'), counted(grammar, [oneOf('09')], 0, maxDigits - 1)],
    ]);
    const digit = oneOf('09');
    const fraction = grammar.rule([
      [],
      [...literal('.'), digit, counted(grammar, [digit], 0, maxDigits - 1)],
    ]);
    const sign = grammar.rule([[], literal('-'), literal('+')]);
    // Up to 289: with sixteen digits before the exponent, the number is still finite.
    const power = grammar.rule([
      [digit],
      [digit, digit],
      [oneOf('01'), digit, digit],
      [...literal('2'), oneOf('07'), digit],
      [...literal('28'), digit],
    ]);
    const exponent = grammar.rule([[], [oneOf('ee', 'EE'), sign, power]]);
    return grammar.rule([
      [whole, fraction, exponent],
      [...literal('-'), whole, fraction, exponent],
    ]);
  });

/** Returns the rule for any JSON value, nested to any depth. */
export const anyValue = (grammar: GrammarBuilder): number =>
  grammar.once('value', () => {
    const value = grammar.declare();
    const gap = space(grammar);
    const member: Sequence = [string(grammar), ...literal(':'), gap, value];
    grammar.define(value, [
      [string(grammar)],
      [number(grammar)],
      ...['true', 'false', 'null'].map(literal),
      ...[bracketed(grammar, '[', ']', [value]), bracketed(grammar, '{', '}', member)],
    ]);
    return value;
  });

/** Returns the rule for any JSON object. */
export const anyObject = (grammar: GrammarBuilder): number =>
  grammar.once('object', () =>
    grammar.rule([
      bracketed(grammar, '{', '}', [
        string(grammar),
        ...literal(':'),
        space(grammar),
        anyValue(grammar),
      ]),
    ]),
  );

function bracketed(grammar: GrammarBuilder, open: string, close: string, item: Sequence): Sequence {
  const gap = space(grammar);
  const more = repeated(grammar, [...literal(','), gap, ...item, gap]);
  const inside = grammar.rule([[], [...item, gap, more]]);
  return [...literal(open), gap, inside, ...literal(close)];
}

/**
 * Returns the rule for one character of a JSON string: UTF-8 except quotes, backslashes and U+0000
 * to U+001F, or an escape. Surrogates are escaped in pairs, so that each match is one character.
 * @see RFC 8259 section 7, RFC 3629 section 4
 */
export function character(grammar: GrammarBuilder): number {
  const tail: readonly number[] = [0x80, 0xbf];
  const hex = oneOf('09', 'af', 'AF');
  const d = oneOf('dd', 'DD');
  return grammar.once('character', () =>
    grammar.rule([
      [[0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f]],
      [[0xc2, 0xdf], tail],
      [[0xe0, 0xe0], [0xa0, 0xbf], tail],
      [[0xe1, 0xec, 0xee, 0xef], tail, tail],
      [[0xed, 0xed], [0x80, 0x9f], tail],
      [[0xf0, 0xf0], [0x90, 0xbf], tail, tail],
      [[0xf1, 0xf3], tail, tail, tail],
      [[0xf4, 0xf4], [0x80, 0x8f], tail, tail],
      [...literal('\\'), oneOf('""', '\\\\', '//', 'bb', 'ff', 'nn', 'rr', 'tt')],
      [...literal('\\u'), oneOf('09', 'ac', 'AC', 'ef', 'EF'), hex, hex, hex],
      [...literal('\\u'), d, oneOf('07'), hex, hex],
      [
        ...[...literal('\\u'), d, oneOf('89', 'ab', 'AB'), hex, hex],
        ...[...literal('\\u'), d, oneOf('cf', 'CF'), hex, hex],
      ],
    ]),
  );
}
