/**
 * Parses tokens to an expression. Parts that cannot be parsed become expressions of the kind
 * `invalid`. Does not throw.
 */
import {
  apply,
  invalid,
  isReadable,
  numeral,
  type Expression,
  type Operator,
} from './expression.js';
import type { Token } from './lexer.js';
import { functionNames, symbolCommands } from './vocabulary.js';

/**
 * Maximum nesting depth of an expression. Deeper expressions are invalid, so that the stack cannot
 * overflow.
 */
const maxDepth = 100;

/** Parses all tokens as one expression. Returns undefined if they are not one expression. */
export function parseExpression(tokens: readonly Token[]): Expression | undefined {
  const parser = new Parser(tokens);
  const expression = parser.sum();
  return parser.atEnd() && isReadable(expression) ? expression : undefined;
}

const closers: Readonly<Record<string, string>> = {
  '(': ')',
  '[': ']',
  '{': '}',
  '\\{': '\\}',
  '|': '|',
};
/** Opening brackets that denote a function, each with its closing bracket and the function. */
const roundings: Readonly<Record<string, readonly [close: string, operator: Operator]>> = {
  '\\lfloor': ['\\rfloor', 'floor'],
  '\\lceil': ['\\rceil', 'ceil'],
};
/** Inverse functions, which notations such as `\sin^{-1}` denote. */
const inverses: Readonly<Record<string, Operator>> = {
  sin: 'arcsin',
  cos: 'arccos',
  tan: 'arctan',
};
/** Functions that are the reciprocals of these functions. */
const reciprocals: Readonly<Record<string, Operator>> = { sec: 'cos', csc: 'sin', cot: 'tan' };

class Parser {
  readonly #tokens: Token[];
  #at = 0;
  #depth = 0;
  /**
   * Number of absolute values that are open within the current brackets. A bar closes the innermost
   * one.
   */
  #bars = 0;
  /**
   * Number of functions whose arguments contain the current position. In an argument, degrees are
   * converted to radians; elsewhere, they are a unit.
   */
  #functions = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = [...tokens];
  }

  atEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  sum(): Expression {
    let left = this.#product();
    for (;;) {
      if (this.#take('+')) left = apply('add', left, this.#product());
      else if (this.#take('-')) left = apply('add', left, apply('negate', this.#product()));
      else return left;
    }
  }

  #product(): Expression {
    let left = this.#signed();
    for (;;) {
      if (this.#take('*')) left = apply('multiply', left, this.#signed());
      else if (this.#take('/')) left = apply('divide', left, this.#signed());
      else if (this.#startsFactor()) left = apply('multiply', left, this.#power());
      else return left;
    }
  }

  #signed(): Expression {
    let negative = false;
    for (;;) {
      if (this.#take('-')) negative = !negative;
      else if (!this.#take('+')) break;
    }
    return negative ? apply('negate', this.#power()) : this.#power();
  }

  #power(): Expression {
    return this.#raised(this.#operand());
  }

  /**
   * Parses powers, which are right-associative. An exponent may have a sign without braces, as in
   * `2^-1`.
   */
  #raised(base: Expression): Expression {
    if (!this.#take('^')) return base;
    const negative = this.#take('-');
    const exponent = this.#raised(this.#primary());
    return apply('power', base, negative ? apply('negate', exponent) : exponent);
  }

  /** Parses a primary expression, or a number that consists of several tokens. */
  #operand(): Expression {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'number' || !/^\d+$/.test(token.text)) return this.#primary();
    this.#at++;
    const groups = token.text.length <= 3 ? this.#spacedThousands() : '';
    return this.#postfixed(
      groups === '' ? this.#mixedNumber(numeral(token.text)) : numeral(token.text + groups),
    );
  }

  /** Consumes the remaining groups of digits of a number such as `10 000`, after the first one. */
  #spacedThousands(): string {
    let groups = '';
    for (;;) {
      const token = this.#tokens[this.#at];
      if (token?.kind !== 'number' || !/^\d{3}(?:\.\d+)?$/.test(token.text) || groups.includes('.'))
        return groups;
      groups += token.text;
      this.#at++;
    }
  }

  /**
   * Parses what may follow an integer: in a mixed number such as `7 3/4` or `7\frac34`, a proper
   * fraction of two plain numbers is added to the integer. Before any other fraction, the integer
   * is a factor.
   */
  #mixedNumber(whole: Expression): Expression {
    const [first, second, third] = this.#tokens.slice(this.#at, this.#at + 3);
    if (first?.kind === 'number' && second?.text === '/' && third?.kind === 'number') {
      const fraction = apply('divide', numeral(first.text), numeral(third.text));
      if (!isProper(fraction)) return whole;
      this.#at += 3;
      return apply('add', whole, fraction);
    }
    if (first?.text !== '\\frac') return whole;
    const fraction = this.#primary();
    return apply(isProper(fraction) ? 'add' : 'multiply', whole, fraction);
  }

  /** Parses a primary expression, and limits the depth. Every recursion calls this method. */
  #primary(): Expression {
    const token = this.#tokens[this.#at];
    if (token === undefined || this.#depth >= maxDepth) {
      // Moves to the end, so that callers that loop over factors stop.
      this.#at = this.#tokens.length;
      return invalid;
    }
    this.#at++;
    this.#depth++;
    const expression = this.#postfixed(this.#read(token));
    this.#depth--;
    return expression;
  }

  /** Parses what may follow an operand: `!`, and `°` in the argument of a function. */
  #postfixed(operand: Expression): Expression {
    let expression = operand;
    while (this.#take('!')) expression = apply('factorial', expression);
    return this.#functions > 0 && this.#take('°')
      ? apply('multiply', expression, degree)
      : expression;
  }

  #read({ kind, text }: Token): Expression {
    if (kind === 'symbol') return { kind: 'symbol', name: text };
    if (kind === 'word') return lettersOf(text);
    if (kind === 'command') return this.#command(text);
    if (kind === 'mark') return this.#bracketed(text);
    // Digits in another base, such as 101_{2}, are a symbol.
    return text.includes('_') ? { kind: 'symbol', name: text } : numeral(text);
  }

  #bracketed(open: string): Expression {
    const close = closers[open];
    if (close === undefined) return invalid;
    const bars = this.#bars;
    this.#bars = open === '|' ? bars + 1 : 0;
    const inner = this.sum();
    this.#bars = bars;
    if (!this.#take(close)) return invalid;
    return open === '|' ? apply('absolute', inner) : inner;
  }

  #command(text: string): Expression {
    if (text === '\\frac') return apply('divide', this.#argument(), this.#argument());
    if (text === '\\sqrt') return this.#root();
    if (text === '\\binom') return binomial(this.#argument(), this.#argument());
    const rounding = Object.hasOwn(roundings, text) ? roundings[text] : undefined;
    if (rounding) return this.#rounded(...rounding);
    if (text === '\\pi' || symbolCommands.has(text.replace(/_.*/, '')))
      return { kind: 'symbol', name: text };
    const name = text.slice(1);
    return functionNames.has(name) ? this.#function(name) : invalid;
  }

  /** Parses an argument of \frac: an expression in braces or, as in TeX, a single character. */
  #argument(): Expression {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'number' || !/^\d\d+$/.test(token.text)) return this.#primary();
    this.#tokens[this.#at] = { ...token, text: token.text.slice(1) };
    return numeral(token.text[0]!);
  }

  #rounded(close: string, operator: Operator): Expression {
    const inner = this.sum();
    const end = this.#tokens[this.#at];
    if (end?.text !== close) return invalid;
    this.#at++;
    return apply(operator, inner);
  }

  #root(): Expression {
    if (!this.#take('[')) return apply('sqrt', this.#primary());
    const index = this.sum();
    return this.#take(']') ? apply('root', this.#primary(), index) : invalid;
  }

  /** Parses a function with its argument, such as `\log_2 8`, `\sin^2 x` or `\ln(x)`. */
  #function(name: string): Expression {
    const base = this.#take('_') ? this.#primary() : undefined;
    const exponent = this.#take('^') ? this.#primary() : undefined;
    this.#functions++;
    const argument = this.#functionArgument();
    this.#functions--;
    const inverse = exponent && isMinusOne(exponent) ? inverses[name] : undefined;
    if (inverse) return apply(inverse, argument);
    const call = callOf(name, argument, base);
    return exponent ? apply('power', call, exponent) : call;
  }

  /**
   * Parses the argument of a function. `\sin 2x` is the sine of 2x, but `\sin(2)x` is x times the
   * sine of 2.
   */
  #functionArgument(): Expression {
    const start = this.#tokens[this.#at]?.text ?? '';
    let argument = this.#raised(this.#primary());
    while (!(start in closers) && this.#startsFactor() && !this.#startsFunction()) {
      argument = apply('multiply', argument, this.#raised(this.#primary()));
    }
    return argument;
  }

  #take(mark: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'mark' || token.text !== mark) return false;
    this.#at++;
    return true;
  }

  /**
   * Returns true if the next token can begin a factor, with which the preceding expression is
   * multiplied without a sign.
   */
  #startsFactor(): boolean {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === 'number') return false;
    if (token.text === '|') return this.#bars === 0;
    if (token.text === '\\rfloor' || token.text === '\\rceil') return false;
    return token.kind !== 'mark' || token.text === '(' || token.text === '{';
  }

  #startsFunction(): boolean {
    return functionNames.has(this.#tokens[this.#at]?.text.slice(1) ?? '');
  }
}

/** One degree, in radians. */
const degree = apply('divide', { kind: 'symbol', name: '\\pi' }, numeral('180'));

/** Creates the binomial coefficient n over k. */
function binomial(n: Expression, k: Expression): Expression {
  const rest = apply('factorial', apply('add', n, apply('negate', k)));
  return apply('divide', apply('factorial', n), apply('multiply', apply('factorial', k), rest));
}

const isMinusOne = (expression: Expression): boolean =>
  expression.kind === 'apply' &&
  expression.operator === 'negate' &&
  expression.operands[0]?.kind === 'number' &&
  expression.operands[0].digits === '1';

function isProper(fraction: Expression): boolean {
  if (fraction.kind !== 'apply' || fraction.operator !== 'divide') return false;
  const [above, below] = fraction.operands;
  if (above?.kind !== 'number' || below?.kind !== 'number') return false;
  return (
    /^\d{1,15}$/.test(above.digits) &&
    /^\d{1,15}$/.test(below.digits) &&
    Number(above.digits) < Number(below.digits)
  );
}

/** Returns the product of two or three adjacent letters as variables. A longer word is invalid. */
function lettersOf(word: string): Expression {
  if (!/^[A-Za-z]{2,3}$/.test(word)) return invalid;
  return [...word]
    .map((name): Expression => ({ kind: 'symbol', name }))
    .reduce((a, b) => apply('multiply', a, b));
}

function callOf(name: string, argument: Expression, base: Expression | undefined): Expression {
  if (name === 'log')
    return apply('divide', apply('ln', argument), apply('ln', base ?? numeral('10')));
  if (base !== undefined) return invalid;
  const inverse = reciprocals[name];
  return inverse === undefined
    ? apply(name as Operator, argument)
    : apply('divide', numeral('1'), apply(inverse, argument));
}
