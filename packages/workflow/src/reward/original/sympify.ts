/**
 * Implements the part of sympy's `sympify` that Trinity-RFT's comparisons need: Python expressions
 * without implied multiplication.
 */
import { evaluate, variablesOf } from '../math/expression.js';
import { toApproximate } from '../math/number.js';
import { readPython } from '../math/python-expression.js';
import { sameExpression } from '../math/same.js';
import { isClose } from './python.js';

/**
 * Returns true if the expressions are equal at all test points. Expressions without variables may
 * have a relative difference of up to 1e-4. Texts that cannot be parsed are equal only if they are
 * the same text, apart from doubled backslashes.
 */
export function symbolicEqual(a: string, b: string): boolean {
  const [left, right] = [readPython(a), readPython(b)];
  if (!left || !right) return a.replaceAll('\\\\', '\\') === b.replaceAll('\\\\', '\\');
  if (sameExpression(left, right)) return true;
  if (variablesOf(left).size + variablesOf(right).size > 0) return false;
  const [x, y] = [left, right].map((side) => toApproximate(evaluate(side, new Map())));
  return x !== undefined && y !== undefined && isClose(x.value, y.value, 1e-4);
}
