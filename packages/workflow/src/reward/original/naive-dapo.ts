/**
 * Port of Trinity-RFT's grader for `math_dapo_reward`, which is derived from PRIME: its helper
 * functions and the score.
 */
import { balancedEnd } from './boxed.js';
import { latexToText } from './latex-to-text.js';
import { mathEqual } from './math-equal.js';
import { mathdNormalize } from './mathd.js';
import { pythonFloat, wholeDigits } from './python.js';

/**
 * Maximum length of an answer in characters, which bounds the running time. Longer answers, which
 * do not occur in practice, are only compared as text.
 */
const maxLength = 1_000;

const units =
  'degree cm centimeter meter mile second minute hour day week month year foot feet inch yard liter'
    .split(' ')
    .map((unit) => new RegExp(String.raw`${unit}(?:es)?s? *(?:\^[0-9]+)?`, 'g'));

/**
 * Port of `_normalize`: drops the text wrapper, style commands and units, and writes numbers in
 * digits, mixed numbers as sums, and all letters in lower case.
 */
export function normalizeDapo(answer: string): string {
  let text = /^\\text\{(.+?)\}$/.exec(answer)?.[1] ?? answer;
  text = text.replaceAll('\\%', '%').replaceAll('\\$', '$').replace(/[$%]/g, '');
  text = text.replaceAll(' or ', ' , ').replaceAll(' and ', ' , ');
  text = text
    .replaceAll('million', '*10^6')
    .replaceAll('billion', '*10^9')
    .replaceAll('trillion', '*10^12');
  for (const unit of units) text = text.replace(unit, '');
  text = text.replace(/\^ *\\circ/g, '');
  if (text.startsWith('{') && text.endsWith('}')) text = text.slice(1, -1);
  text = text.replace(/,\\! */g, '');
  text = wholeDigits(pythonFloat(text) ?? NaN) ?? text;
  if (text.includes('\\')) text = latexToText(text);
  text = text
    .replace(/- */g, '-')
    .replace(/([0-9]) +([0-9])/g, '$1+$2')
    .toLowerCase();
  return wholeDigits(pythonFloat(withoutThousands(text)) ?? NaN) ?? text;
}

/** Removes commas between a digit and three digits, repeatedly until none is left. */
function withoutThousands(text: string): string {
  let plain = text;
  for (let before; before !== plain;) {
    before = plain;
    plain = plain.replace(/(\d),(\d\d\d)($|\D)/g, '$1$2$3');
  }
  return plain;
}

/**
 * Port of `split_tuple`: returns the items of a text in brackets that contain no other brackets.
 * Returns the whole text as one item if it has no such brackets, and no items for an empty string.
 */
export function splitTuple(text: string): readonly string[] {
  const plain = withoutThousands(text);
  if (plain === '') return [];
  if (!/^[()[\]][^()[\]]+[()[\]]$/.test(plain)) return [plain];
  return plain
    .slice(1, -1)
    .split(',')
    .map((item) => item.trim());
}

/** Port of `_is_frac`: returns true for a fraction of integers whose denominator is not 0. */
export function isFraction(text: string): boolean {
  return /^-?[0-9]+[^\n]?\/0*[1-9][0-9]*[^\n]?$/.test(text);
}

/**
 * Port of `should_allow_eval`: returns true if the text has at most two different letters, apart
 * from sqrt and frac, and no braced, chained or long exponents.
 */
export function shouldAllowEval(text: string): boolean {
  const letters = new Set(text.replaceAll('sqrt', '').replaceAll('frac', '').match(/\p{L}/gu));
  return letters.size <= 2 && !/\^[{(]|\^[0-9]+\^|\^[0-9][0-9]+/.test(text);
}

/**
 * Scores a response. Returns 1 if its answer equals the truth in one of the two spellings or by
 * {@link mathEqual}, else 0. The answer is searched after the last `</think>`: the content of the
 * last `\boxed{}`, or of the last `\fbox{}` if there is none; without either, the whole text.
 * {@link mathEqual} replaces PRIME's comparison, which Trinity-RFT tries last. As in Trinity-RFT, a
 * text with `\pi` is only compared as text.
 */
export function naiveDapoScore(response: string, truth: string): number {
  const final = response.split('</think>').at(-1) ?? '';
  const answer = lastBox(final) || final;
  if (answer.length > maxLength || truth.length > maxLength) return Number(answer === truth);
  if (
    mathdNormalize(answer) === mathdNormalize(truth) ||
    gradeSpelling(normalizeDapo(answer), normalizeDapo(truth))
  )
    return 1;
  const hasPi = answer.includes('\\pi') || truth.includes('\\pi');
  return Number(!hasPi && mathEqual(answer.trim(), truth.trim()));
}

function gradeSpelling(answer: string, truth: string): boolean {
  if (answer === truth) return true;
  const [given, expected] = [splitTuple(answer), splitTuple(truth)];
  if (given.length === 0 || given.length !== expected.length) return false;
  if (expected.length > 1 && (answer[0] !== truth[0] || answer.at(-1) !== truth.at(-1)))
    return false;
  // Fractions must be equal as text. Trinity-RFT's symbolic comparison is not implemented.
  return given.every((item, index) => item === expected[index] && isFraction(item));
}

function lastBox(text: string): string | undefined {
  const boxed = text.lastIndexOf('\\boxed');
  const start = boxed >= 0 ? boxed : text.lastIndexOf('\\fbox');
  const end = start < 0 ? -1 : balancedEnd(text, start);
  return end < 0 ? undefined : text.slice(text.indexOf('{', start) + 1, end - 1).trim();
}
