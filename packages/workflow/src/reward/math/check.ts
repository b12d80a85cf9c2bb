/** The math checker, which decides if a response gives the reference answer. */
import {
  announcedAnswer,
  boxedAnswer,
  formulas,
  hashedAnswer,
  normalizeAnswer,
  numberIn,
  taggedAnswer,
} from './marks.js';
import { isMath, readAnswer } from './answer.js';
import { sameAnswer } from './same.js';
import { functionNames, numberWords } from './vocabulary.js';

/**
 * Default maximum number of characters of an answer. Longer answers are compared as plain text,
 * which limits the time that a response can cost.
 */
export const maxAnswerLength = 1_000;

/**
 * Returns true if the final answer of `response`, wherever it is, equals the answer in `truth`.
 * With the default `limit`, does not throw, and takes linear time in the lengths of both texts.
 */
export function checkMathAnswer(response: string, truth: string, limit = maxAnswerLength): boolean {
  const answer = extractAnswer(response);
  return answer !== undefined && sameMath(answer, extractTruth(truth), limit);
}

/** Like {@link checkMathAnswer}, but only accepts a boxed answer. */
export function checkBoxedAnswer(
  response: string,
  truth: string,
  limit = maxAnswerLength,
): boolean {
  const answer = boxedAnswer(response);
  return answer !== undefined && sameMath(answer, extractTruth(truth), limit);
}

/**
 * Returns the final answer of a response, as written. Searches for these kinds of answers in this
 * order: `\boxed{..}`, `<answer>..</answer>`, `#### ..`, "answer is ..", a text that is nothing but
 * an answer, the formula that ends the text, the last number. Returns the last answer of the first
 * kind that occurs. Text after the last `</think>` takes precedence over the thought. Returns
 * undefined if there is no answer, and never an empty string.
 */
export function extractAnswer(response: string): string | undefined {
  const thought = response.lastIndexOf('</think>');
  const final = thought < 0 ? '' : response.slice(thought + '</think>'.length);
  return answerIn(final) || answerIn(response) || undefined;
}

/**
 * Returns the reference answer in `truth`. The answer may be marked as in a response, like the
 * `#### 72` of GSM8K. Otherwise the whole text is the answer.
 */
export function extractTruth(truth: string): string {
  return markedAnswer(truth) || truth.trim();
}

function answerIn(text: string): string | undefined {
  return markedAnswer(text) || bareAnswer(text) || lastFormula(text) || numberIn(text, -1);
}

function markedAnswer(text: string): string | undefined {
  return (
    boxedAnswer(text) ||
    settle(taggedAnswer(text), -1) ||
    settle(hashedAnswer(text), 0) ||
    settle(announcedAnswer(text), 0)
  );
}

/** Returns an unmarked text if it is nothing but an answer: a formula, or a few words. */
function bareAnswer(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.length > maxAnswerLength) return undefined;
  return readsAsMath(trimmed) || /^[^\d\s]+(?:\s+[^\d\s]+){0,3}$/.test(trimmed)
    ? trimmed
    : undefined;
}

/**
 * Returns the formula that ends a text, as in `So we get \frac{1}{2}.` Returns the part after the
 * last equals sign of an equation.
 */
function lastFormula(text: string): string | undefined {
  const end = text
    .slice(-maxAnswerLength)
    .trimEnd()
    .replace(/[.,;!?]+$/, '');
  const word = end.slice(
    Math.max(end.lastIndexOf(' '), end.lastIndexOf('\n'), end.lastIndexOf('=')) + 1,
  );
  return /\d/.test(word) && readsAsMath(word) ? word : undefined;
}

/**
 * Matches a formula with its delimiters, or the start of a clause that explains the answer before
 * it. Two dollar amounts with such a clause between them are not
 * a formula.
 */
const formulaOrReason =
  /(?<!\\)\$(?:(?!\s(?:because|since|as|so)\s)[^$])*\$|\\\((?:[^\\]|\\[^()])*\\\)|\s(?:because|since|as|so)\s|\s\(/gi;
/**
 * Matches an operator and the start of its operand. A dash before a word and the end of bold text do
 * not count.
 */
const operator = /^\(|^\s*(?:[-+−/^=<>×·÷]|\*(?!\*)|x\b|\\(?:times|cdot|div)\b)\s*(?=[\d(\\$.])/;

/**
 * Returns the text before the reason in the first `maxAnswerLength` characters of a text, or an
 * empty string without a reason. A parenthesis is a reason if it is outside formulas and no
 * operator follows it.
 */
function claimIn(text: string): string {
  const head = text.slice(0, maxAnswerLength);
  for (const { 0: match, index } of head.matchAll(formulaOrReason)) {
    const isFormula = !/^\s/.test(match);
    if (isFormula || (match.endsWith('(') && operator.test(afterParenthesis(head, index + 1))))
      continue;
    const claim = head.slice(0, index).trimEnd();
    return claim.endsWith(',') ? claim.slice(0, -1) : claim;
  }
  return '';
}

/** Returns the text after the parenthesis that closes the one at `open`. */
function afterParenthesis(text: string, open: number): string {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return text.slice(at + 1);
  }
  return '';
}

/**
 * Returns the answer within a marked text. This is the whole text if it is math. In prose, it is
 * the letter of an option, the text before the reason for it (only for `place` 0), the part after
 * the last equals sign, or the first (0) or last (-1) formula or number.
 */
function settle(text: string | undefined, place: 0 | -1): string | undefined {
  if (!text || readsAsMath(text)) return text;
  const option = /^(?:(?:[Oo]ption|[Cc]hoice) [*(]{0,3}([A-J])\b|\(?([A-Z])(?:\)|[,:]))/.exec(text);
  if (option !== null) return option[1] ?? option[2];
  const claim = place === 0 ? claimIn(text) : '';
  if (/^\W*[A-J]\W*$|\d|\\pi/.test(claim) && readsAsMath(claim)) return claim;
  const value = text.slice(text.lastIndexOf('=') + 1).trim();
  if (value.length < text.length && value !== '' && readsAsMath(value)) return value;
  return formulas(text).filter(readsAsMath).at(place) ?? numberIn(text, place) ?? text;
}

const readsAsMath = (text: string): boolean =>
  text.length <= maxAnswerLength && !beginsAsProse(text) && isMath(readAnswer(text)[0]);

/** Returns true for a text such as `So we get 5`, which is not a product of letters. */
function beginsAsProse(text: string): boolean {
  const word = /^\s*([A-Za-z][a-z]{1,2})\s/.exec(text)?.[1]?.toLowerCase();
  return word !== undefined && !functionNames.has(word) && !numberWords.has(word);
}

/**
 * Returns true if two answers, without the text around them, mean the same. Answers longer than
 * `limit` characters are compared as text. With a limit of at most `maxAnswerLength`, does not
 * throw. With a higher limit, the call may take long or overflow the stack. Make such calls in a
 * thread with a deadline, as `createMathChecker` does.
 */
export function sameMath(a: string, b: string, limit = maxAnswerLength): boolean {
  if (a.trim() === b.trim()) return true;
  if (a.length > limit || b.length > limit) return false;
  const [left, right] = [keyOf(a), keyOf(b)];
  if (left === right) return true;
  // Two words must be equal as text. As products of variables, `on` would equal `no`.
  if (isWord(left) && isWord(right)) return false;
  const readings = readAnswer(b);
  return readAnswer(a).some((answer) => readings.some((reading) => sameAnswer(answer, reading)));
}

/**
 * Normalizes the case of words and of the letter of a choice, so that `(b)` equals `B`. Keeps the
 * case in formulas.
 */
function keyOf(text: string): string {
  const key = normalizeAnswer(text).replace(/^\( (\S+) \)$/, '$1');
  const isPhrase = /^[\p{L} ]+$/u.test(key) && /\p{L}{2}/u.test(key);
  return isPhrase || /^[A-Ja-j]$/.test(key) ? key.toLowerCase() : key;
}

const isWord = (key: string): boolean => /^\p{L}{2,}$/u.test(key);
