/**
 * Parses quantities: expressions that may be followed by a unit, a percent sign or a remark (words
 * that are not a unit, as in `5 apples`).
 */
import { apply, numeral, variablesOf, type Expression } from './expression.js';
import type { Token } from './lexer.js';
import { parseExpression } from './parser.js';
import { fractionWords, functionNames, numberWords, scaleWords, unitNames } from './vocabulary.js';

export interface Quantity {
  readonly kind: 'quantity';
  readonly expression: Expression;
  /**
   * Name of the unit, the same for all spellings. Undefined if there is no unit, or only words that
   * are not a known unit, as in `5 apples`.
   */
  readonly unit: string | undefined;
  /** True if a percent sign follows. `50%` may mean 50 or a half. */
  readonly percent: boolean;
}

/** Parses a quantity. Returns undefined if the tokens are not a quantity. */
export function readQuantity(tokens: readonly Token[]): Quantity | undefined {
  const counted = withNumerals(tokens);
  const start = counted.findIndex((token, index) => isUnitStart(token, counted[index - 1]));
  // The sine of 30 degrees is not a number of degrees.
  const isAngle =
    counted[start]?.text === '°' &&
    counted
      .slice(0, start)
      .some(({ kind, text }) => kind === 'command' && functionNames.has(text.slice(1)));
  if (isAngle) return readPlain(counted);
  return (
    (start > 0 ? readMeasured(counted.slice(0, start), counted.slice(start)) : undefined) ??
    readPlain(counted)
  );
}

function readPlain(tokens: readonly Token[]): Quantity | undefined {
  const percent = tokens.at(-1)?.text === '%';
  const expression = parseExpression(percent ? tokens.slice(0, -1) : tokens);
  return expression && { kind: 'quantity', expression, unit: undefined, percent };
}

/**
 * Parses a number with a unit or remark. An expression with variables has none: in `2x + 5 m`, the
 * m is a variable.
 */
function readMeasured(amount: readonly Token[], suffix: readonly Token[]): Quantity | undefined {
  const quantity = readPlain(amount);
  if (!quantity || variablesOf(quantity.expression).size > 0 || !isRemark(suffix)) return undefined;
  const first = suffix[0]?.text.toLowerCase() ?? '';
  const scale = scaleWords.get(first.replace(/s$/, ''));
  const rest = scale === undefined ? suffix : suffix.slice(1);
  const expression =
    scale === undefined
      ? quantity.expression
      : apply('multiply', quantity.expression, numeral(String(scale)));
  return {
    kind: 'quantity',
    expression,
    unit: unitOf(rest),
    percent: quantity.percent || first === 'percent',
  };
}

/**
 * Returns true if a unit or remark can begin at this token: the token follows a number, and is not
 * a variable or product of variables.
 */
function isUnitStart({ kind, text, apart }: Token, previous: Token | undefined): boolean {
  if (
    previous === undefined ||
    !(previous.kind === 'number' || ')]}%'.includes(previous.text) || previous.text === '\\pi')
  )
    return false;
  if (text === '°') return true;
  // Words of other scripts are never variables.
  if ((kind === 'symbol' || kind === 'word') && /[^\p{ASCII}]/u.test(text)) return true;
  if (kind === 'symbol') return apart && unitNames.has(text);
  if (kind !== 'word') return false;
  return text.length >= 4 || (apart && text.length === 3) || unitNames.has(text.toLowerCase());
}

/**
 * Returns true if the tokens can be a unit or remark: words, and the signs of composed units such
 * as `km/h`, `cm^2` and `m s^{-1}`. Returns false if they contain a number, in digits or words,
 * which would belong to another answer.
 */
function isRemark(tokens: readonly Token[]): boolean {
  return tokens.every(({ kind, text }, index) => {
    if (kind === 'number')
      return ['^', '^{', '^-', '^{-'].some(
        (before) => textBefore(tokens, index, before.length) === before,
      );
    if (
      kind === 'word' &&
      (numberWords.has(text.toLowerCase()) || fractionWords.has(text.toLowerCase()))
    )
      return false;
    return kind === 'word' || kind === 'symbol' || "/^*-.'°(){}".includes(text);
  });
}

const textBefore = (tokens: readonly Token[], index: number, count: number): string =>
  tokens
    .slice(Math.max(0, index - count), index)
    .map(({ text }) => text)
    .join('');

/**
 * Returns the name of the unit, which is equal for all spellings, such as `sq cm` and `cm^2`.
 * Returns undefined if a word is not a unit.
 */
function unitOf(tokens: readonly Token[]): string | undefined {
  const parts: string[] = [];
  for (const { kind, text } of tokens) {
    if (kind === 'mark' && '.{}'.includes(text)) continue;
    const isName = kind === 'word' || kind === 'symbol';
    const name = isName
      ? (unitNames.get(text) ?? (text.length > 1 ? unitNames.get(text.toLowerCase()) : undefined))
      : unitMark(text);
    if (name === undefined) return undefined;
    parts.push(name);
  }
  const power = { sq: '^2', cu: '^3' }[parts[0] ?? ''];
  return parts.length === 0
    ? undefined
    : power === undefined
      ? parts.join('')
      : parts.slice(1).join('') + power;
}

const unitMark = (text: string): string => (text === '°' ? 'degree' : text);

/** Replaces number words at the beginning with digits, as in `twenty-two apples` or `five`. */
function withNumerals(tokens: readonly Token[]): readonly Token[] {
  const [first, second, third] = tokens;
  const value = wordValue(first);
  if (value === undefined) return tokens;
  const hyphen = second?.text === '-' ? 1 : 0;
  const unit = value >= 20n ? wordValue(hyphen ? third : second) : undefined;
  const composed = unit !== undefined && unit > 0n && unit < 10n;
  const digits: Token = {
    kind: 'number',
    text: String(composed ? value + unit : value),
    apart: true,
  };
  return [digits, ...tokens.slice(composed ? 2 + hyphen : 1)];
}

const wordValue = (token: Token | undefined): bigint | undefined =>
  token?.kind === 'word' ? numberWords.get(token.text.toLowerCase()) : undefined;
