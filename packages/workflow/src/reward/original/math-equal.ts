/**
 * Ports of `math_equal` and `verify_math_answer` of Trinity-RFT's evaluation workflows (after
 * Qwen2.5-Math).
 */
import { extractAnswer } from './extract-answer.js';
import { isClose, pythonFloat } from './python.js';
import { symbolicEqual } from './sympify.js';

/** Maximum length of an answer in characters. Longer answers are only compared as text. */
const maxLength = 1_000;

/**
 * Port of `verify_math_answer`: compares the answers that {@link extractAnswer} finds, by {@link
 * mathEqual}.
 */
export function verifyMathAnswer(response: string, truth: string): boolean {
  return mathEqual(extractAnswer(response), extractAnswer(truth));
}

/**
 * Port of `math_equal`: compares two answers after `stripString`. Returns true for equal texts, for
 * numbers with a relative difference of at most 1e-4 (also if one is a hundred times the other),
 * for intervals and matrices with equal cells, and for equal equations. Other expressions are equal
 * only if sympy can parse them, which excludes LaTeX, and they have equal values.
 */
export function mathEqual(answer: string | null, truth: string | null): boolean {
  if (answer === null || truth === null) return false;
  if (answer === truth) return true;
  if (answer.length > maxLength || truth.length > maxLength) return false;
  return (
    sameDigits(answer, truth) ??
    (sameStructure(answer, truth) || sameEquation(answer, truth) || symbolicEqual(answer, truth))
  );
}

/** Compares numbers. Returns undefined if one of the texts is not a number. */
function sameDigits(answer: string, truth: string): boolean | undefined {
  const given = pythonFloat(answer.replaceAll(',', ''));
  const expected = pythonFloat(truth.replaceAll(',', ''));
  if (given === undefined || expected === undefined) return undefined;
  return [expected, expected / 100, expected * 100].some((value) => isClose(value, given, 1e-4));
}

const sameStructure = (answer: string, truth: string): boolean =>
  sameTuple(answer, truth) || sameMatrix(answer, truth);

const isBracketed = (text: string): boolean => /^[([]/.test(text) && /[)\]]$/.test(text);

function sameTuple(answer: string, truth: string): boolean {
  if (!isBracketed(answer) || !isBracketed(truth)) return false;
  const given = answer.slice(1, -1).split(',');
  const expected = truth.slice(1, -1).split(',');
  return given.length === expected.length && allEqual(given, expected);
}

const matrix = '\\begin{pmatrix}';

function sameMatrix(answer: string, truth: string): boolean {
  if (!answer.startsWith(matrix) || !truth.startsWith(matrix)) return false;
  const given = matrixRows(answer);
  const expected = matrixRows(truth);
  return (
    given.length === expected.length &&
    given[0]?.length === expected[0]?.length &&
    given.every((row, index) => allEqual(row, expected[index] ?? []))
  );
}

const matrixRows = (text: string): readonly (readonly string[])[] =>
  text
    .slice(matrix.length, -matrix.length + 2)
    .split('\\\\')
    .map((row) => row.split('&'));

/** Compares the items of two lists. Ignores items beyond the end of the shorter list. */
function allEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.every((item, index) => {
    const other = b[index];
    return other === undefined || mathEqual(item.trim(), other.trim());
  });
}

function sameEquation(answer: string, truth: string): boolean {
  const given = equationSides(answer);
  const expected = equationSides(truth);
  if (given && expected) return symbolicEqual(difference(given), difference(expected));
  if (given && !truth.includes('=')) return isShortName(given) && mathEqual(given[1], truth);
  if (expected && !answer.includes('='))
    return isShortName(expected) && mathEqual(answer, expected[1]);
  return false;
}

type Sides = readonly [left: string, right: string];

/** Returns both sides of an equation, or undefined unless there is exactly one equals sign. */
function equationSides(text: string): Sides | undefined {
  const [left, right, ...more] = text.split('=').map((side) => side.trim());
  return left === undefined || right === undefined || more.length > 0 ? undefined : [left, right];
}

const difference = ([left, right]: Sides): string => `(${left})-(${right})`;
const isShortName = ([left]: Sides): boolean => left.length <= 2;
