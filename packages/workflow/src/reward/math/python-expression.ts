/**
 * Parses arithmetic expressions with Python's rules, without LaTeX and without implied
 * multiplication.
 */
import { apply, evaluate, numeral, type Expression, type Operator } from './expression.js';
import { toApproximate } from './number.js';

/**
 * Maximum length (in characters) and maximum nesting depth of an expression. Expressions beyond it
 * are not parsed.
 */
const maxLength = 1_000;
const maxDepth = 50;

const functions: ReadonlyMap<string, Operator> = new Map(
  Object.entries({
    sqrt: 'sqrt',
    exp: 'exp',
    log: 'ln',
    ln: 'ln',
    sin: 'sin',
    cos: 'cos',
    tan: 'tan',
    asin: 'arcsin',
    acos: 'arccos',
    atan: 'arctan',
  }),
);
const constants: ReadonlyMap<string, string> = new Map([
  ['pi', '\\pi'],
  ['E', 'e'],
]);

/**
 * Parses an arithmetic expression of Python. Returns undefined for any other text. Both `^` and
 * `**` are powers. Numbers must not have leading zeros.
 */
export function readPython(text: string): Expression | undefined {
  if (text.length > maxLength) return undefined;
  const reader = new Reader(text);
  const expression = reader.sum();
  return reader.atEnd() ? expression : undefined;
}

/**
 * Computes the value of an arithmetic expression of Python. Returns undefined if there is none, as
 * for a division by zero.
 */
export function pythonValue(text: string): number | undefined {
  const expression = readPython(text);
  return expression && toApproximate(evaluate(expression, new Map()))?.value;
}

/**
 * A recursive descent parser for Python's grammar of arithmetic. Its methods return undefined if
 * the text does not follow the grammar.
 */
class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  atEnd(): boolean {
    this.#take(/\s*/y);
    return this.#at >= this.#text.length;
  }

  sum(): Expression | undefined {
    return this.#chain(/\s*([+-])/y, () => this.#product(), { '+': 'add', '-': 'add' });
  }

  #product(): Expression | undefined {
    return this.#chain(/\s*(\*(?!\*)|\/\/?)/y, () => this.#signed(), {
      '*': 'multiply',
      '/': 'divide',
      '//': 'floorDivide',
    });
  }

  #chain(
    signs: RegExp,
    next: () => Expression | undefined,
    operators: Readonly<Record<string, Operator>>,
  ): Expression | undefined {
    let left = next();
    for (let sign = left && this.#take(signs)?.[1]; left && sign; sign = this.#take(signs)?.[1]) {
      const right = next();
      left = right && apply(operators[sign]!, left, sign === '-' ? apply('negate', right) : right);
      if (!left) break;
    }
    return left;
  }

  /**
   * Parses signs and a power. Also enforces the maximum depth, because every level of nesting
   * passes through this method.
   */
  #signed(): Expression | undefined {
    if (this.#depth >= maxDepth) return undefined;
    this.#depth++;
    const signs = this.#take(/(?:\s*[+-])*/y)?.[0].replace(/[^-]/g, '') ?? '';
    const value = this.#power();
    this.#depth--;
    return value && signs.length % 2 === 1 ? apply('negate', value) : value;
  }

  #power(): Expression | undefined {
    const base = this.#atom();
    if (!base || !this.#take(/\s*(?:\*\*|\^)/y)) return base;
    const exponent = this.#signed();
    return exponent && apply('power', base, exponent);
  }

  #atom(): Expression | undefined {
    const number = this.#take(
      /\s*((?:[1-9]\d*|0+)(?:\.\d*)?(?:e[+-]?\d{1,4})?|\d*\.\d+(?:e[+-]?\d{1,4})?)(?![\w.])/iy,
    )?.[1];
    if (number !== undefined) return numeral(number.replace(/\.(?=$|e)/i, ''));
    const name = this.#take(/\s*([A-Za-z_]\w*)/y)?.[1];
    if (!this.#take(/\s*\(/y))
      return name === undefined
        ? undefined
        : { kind: 'symbol', name: constants.get(name) ?? `python ${name}` };
    const operator = name === undefined ? undefined : functions.get(name);
    const inner = name === undefined || operator ? this.sum() : undefined;
    if (!inner || !this.#take(/\s*\)/y)) return undefined;
    return operator ? apply(operator, inner) : inner;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }
}
