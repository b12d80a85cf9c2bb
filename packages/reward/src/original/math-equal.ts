/**
 * `math_equal` and `verify_math_answer` of Trinity-RFT's evaluation workflows (after Qwen2.5-Math).
 */
import { extractAnswer } from './extract-answer.js';
import { isClose, pythonFloat } from './python.js';
import { symbolicEqual } from './sympify.js';

/** Longer answers equal only themselves. */
const maxLength = 1_000;

/** `verify_math_answer`: {@link mathEqual} of what {@link extractAnswer} finds in both texts. */
export function verifyMathAnswer(response: string, truth: string): boolean {
  return mathEqual(extractAnswer(response), extractAnswer(truth));
}

/**
 * `math_equal` of two answers after `stripString`: equal texts; numbers within a ten-thousandth,
 * also of the hundredth and the hundredfold; intervals and matrices cell by cell; equations; else
 * expressions as sympy reads them, which is never LaTeX.
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

/** Undefined when one of them is no number. */
function sameDigits(answer: string, truth: string): boolean | undefined {
  const [a, b] = [answer, truth].map((text) => pythonFloat(text.replaceAll(',', '')));
  if (a === undefined || b === undefined) return undefined;
  return [b, b / 100, b * 100].some((value) => isClose(value, a, 1e-4));
}

const matrix = '\\begin{pmatrix}';

function sameStructure(answer: string, truth: string): boolean {
  const texts = [answer, truth];
  if (texts.every((text) => /^[([]/.test(text) && /[)\]]$/.test(text))) {
    const [a, b] = texts.map((text) => text.slice(1, -1).split(','));
    if (a!.length === b!.length && allEqual(a!, b!)) return true;
  }
  if (!texts.every((text) => text.startsWith(matrix))) return false;
  const [a, b] = texts.map((text) =>
    text
      .slice(matrix.length, -matrix.length + 2)
      .split('\\\\')
      .map((row) => row.split('&')),
  );
  return (
    a!.length === b!.length &&
    a![0]!.length === b![0]!.length &&
    a!.every((row, index) => allEqual(row, b![index]!))
  );
}

/** As far as both lists reach. */
function allEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.every(
    (item, index) => b[index] === undefined || mathEqual(item.trim(), b[index].trim()),
  );
}

function sameEquation(answer: string, truth: string): boolean {
  const [a, b] = [answer, truth].map((text) => text.split('=').map((side) => side.trim()));
  if (a!.length === 2 && b!.length === 2)
    return symbolicEqual(`(${a![0]})-(${a![1]})`, `(${b![0]})-(${b![1]})`);
  if (a!.length === 2 && b!.length === 1) return a![0]!.length <= 2 && mathEqual(a![1]!, truth);
  return a!.length === 1 && b!.length === 2 && b![0]!.length <= 2 && mathEqual(answer, b![1]!);
}
