/**
 * Parses the formula `calculate_output` of the grader `multi`: names of graders, numbers, `+ - * /
 * ^`, parentheses and functions.
 */
import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';

type Values = Readonly<Record<string, number>>;

/**
 * Computes a reward from the scores of graders, keyed by their names. The result may be infinite or
 * NaN.
 */
export type Formula = (scores: Values) => number;

const ofOne = { abs: Math.abs, floor: Math.floor, ceil: Math.ceil, exp: Math.exp, sqrt: Math.sqrt, log: Math.log }; // prettier-ignore
const functions: Readonly<Record<string, (...numbers: number[]) => number>> = {
  ...ofOne,
  min: Math.min,
  max: Math.max,
};
const longest = 2000;

/**
 * Parses a formula. `^` is right-associative and binds more strongly than a sign: `-2^2` is -4.
 * @throws ConfigError for other syntax, and for a name that no grader has
 */
export function parseFormula(text: string, names: readonly string[]): Formula {
  if (text.length > longest) throw refused(`has ${text.length} characters, at most ${longest}`);
  const tokens = tokensOf(text);
  let at = 0;
  const taken = (...wanted: readonly string[]): string | undefined =>
    wanted.includes(tokens[at] ?? '') ? tokens[at++] : undefined;
  const expect = (wanted: string): void => {
    if (taken(wanted) === undefined)
      throw refused(`has ${shown(tokens[at])} in place of ${wanted}`);
  };

  function sum(): Formula {
    let left = product();
    for (let sign = taken('+', '-'); sign !== undefined; sign = taken('+', '-')) {
      const [before, next, factor] = [left, product(), sign === '+' ? 1 : -1];
      left = (scores) => before(scores) + factor * next(scores);
    }
    return left;
  }
  function product(): Formula {
    let left = signed();
    for (let sign = taken('*', '/'); sign !== undefined; sign = taken('*', '/')) {
      const [before, next, isTimes] = [left, signed(), sign === '*'];
      left = (scores) => (isTimes ? before(scores) * next(scores) : before(scores) / next(scores));
    }
    return left;
  }
  function signed(): Formula {
    const sign = taken('-', '+');
    if (sign === undefined) return power();
    const value = signed();
    return sign === '-' ? (scores) => -value(scores) : value;
  }
  function power(): Formula {
    const base = operand();
    if (taken('^') === undefined) return base;
    const exponent = signed();
    return (scores) => base(scores) ** exponent(scores);
  }
  function operand(): Formula {
    const token = tokens[at++];
    if (token === '(') {
      const inner = sum();
      expect(')');
      return inner;
    }
    if (token !== undefined && /^[\d.]/.test(token)) return () => Number(token);
    if (token === undefined || !/^\w/.test(token))
      throw refused(`has ${shown(token)} in place of a number or a name`);
    return tokens[at] === '(' ? call(token) : variable(token);
  }
  function call(name: string): Formula {
    if (!Object.hasOwn(functions, name))
      throw refused(`calls ${name}, which is none of ${Object.keys(functions).join(', ')}`);
    const given: Formula[] = [];
    do {
      at++;
      given.push(sum());
    } while (tokens[at] === ',');
    expect(')');
    if (given.length !== 1 && Object.hasOwn(ofOne, name))
      throw refused(`gives ${name} ${given.length} numbers; it takes 1`);
    return (scores) => functions[name]!(...given.map((one) => one(scores)));
  }
  function variable(name: string): Formula {
    if (names.includes(name)) return (scores) => scores[name]!;
    throw refused(
      `names ${name}, which is none of the graders ${names.join(', ')}.${didYouMean(name, names)}`,
    );
  }

  const whole = sum();
  if (at < tokens.length) throw refused(`has ${shown(tokens[at])} after its end`);
  return whole;
}

function tokensOf(text: string): readonly string[] {
  const tokens = text.match(/(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\S/g) ?? [];
  const strange = tokens.find((token) => !/^[\w.+\-*/^(),]+$/.test(token) || token === '.');
  if (strange !== undefined) throw refused(`has ${shown(strange)}, which is no part of a formula`);
  return tokens;
}

const shown = (token: string | undefined): string =>
  token === undefined ? 'its end' : `"${token}"`;

const refused = (problem: string): ConfigError =>
  new ConfigError(`The formula ${problem}`, { code: 'GRADER_FORMULA' });
