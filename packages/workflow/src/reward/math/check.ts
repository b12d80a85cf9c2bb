/** Decides if the answer in a response equals the reference answer. */
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
 * Default maximum length of an answer, in characters. Longer answers are compared as plain text,
 * which limits the running time.
 */
export const maxAnswerLength = 1_000;

/**
 * Returns true if the final answer of `response`, which may be anywhere in the text, equals the
 * answer in `truth`. With the default `limit`, does not throw, and takes linear time in the lengths
 * of both texts.
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
 * Returns the final answer of a response, as written. Searches for an answer of these kinds, in
 * this order: `\boxed{..}`, `<answer>..</answer>`, `#### ..`, "answer is ..", a text that is
 * nothing but an answer, a formula at the end of the text, the last number. If there are several of
 * the first kind that occurs, returns the last of them. The text after the last `</think>` is
 * searched first, then the whole response. Returns undefined if there is no answer, and never an
 * empty string.
 */
export function extractAnswer(response: string): string | undefined {
  const thought = response.lastIndexOf('</think>');
  const final = thought < 0 ? '' : response.slice(thought + '</think>'.length);
  return answerIn(final) || answerIn(response) || undefined;
}

/**
 * Returns the reference answer in `truth`. If it is marked as in a response, such as the `#### 72`
 * of GSM8K, returns the marked answer; otherwise the whole text.
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

/**
 * Returns the text, trimmed, if it consists only of an answer: a formula, or up to four words
 * without digits. Otherwise returns undefined.
 */
function bareAnswer(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.length > maxAnswerLength) return undefined;
  return readsAsMath(trimmed) || /^[^\d\s]+(?:\s+[^\d\s]+){0,3}$/.test(trimmed)
    ? trimmed
    : undefined;
}

/**
 * Returns the formula at the end of a text, as in `So we get \frac{1}{2}.`; of an equation, only
 * the part after the last equals sign.
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
 * Matches a formula with its delimiters, or the beginning of the reason for an answer, which
 * follows it: a word such as "because", or a parenthesis. Text between two dollar amounts is not a
 * formula if it contains such a word.
 */
const formulaOrReason =
  /(?<!\\)\$(?:(?!\s(?:because|since|as|so)\s)[^$])*\$|\\\((?:[^\\]|\\[^()])*\\\)|\s(?:because|since|as|so)\s|\s\(/gi;
/**
 * Matches an operator and the beginning of its right operand. A dash before a word and the
 * asterisks of bold text are not operators.
 */
const operator = /^\(|^\s*(?:[-+−/^=<>×·÷]|\*(?!\*)|x\b|\\(?:times|cdot|div)\b)\s*(?=[\d(\\$.])/;

/**
 * Returns the answer that precedes its reason in a text, or an empty string if no reason is found.
 * Only the first `maxAnswerLength` characters are searched. A parenthesis begins a reason if it is
 * outside formulas and no operator follows it.
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
 * Returns the answer in a text that is marked as an answer. If the text is math, the answer is the
 * whole text. Otherwise, it is the first of these that is found: the letter of an option, the text
 * before a reason (only if `place` is 0), the part after the last equals sign, the first (`place`
 * 0) or last (`place` -1) formula, the first or last number. If there is none of them, it is the
 * whole text.
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

/**
 * Returns true if a text begins with an ordinary word of two or three letters, as in `So we get 5`.
 * Such a word would otherwise be read as a product of variables.
 */
function beginsAsProse(text: string): boolean {
  const word = /^\s*([A-Za-z][a-z]{1,2})\s/.exec(text)?.[1]?.toLowerCase();
  return word !== undefined && !functionNames.has(word) && !numberWords.has(word);
}

/**
 * Returns true if two bare answers (without other text around them) have the same meaning. Answers
 * longer than `limit` characters are compared as text. With a limit of at most `maxAnswerLength`,
 * does not throw. With a higher limit, the call may take long or overflow the stack; make such
 * calls in a thread with a time limit, as `createMathChecker` does.
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
 * Normalizes the spelling of an answer. Words, and the letter of a choice, are converted to lower
 * case, so that `(b)` equals `B`; formulas keep their case.
 */
function keyOf(text: string): string {
  const key = normalizeAnswer(text).replace(/^\( (\S+) \)$/, '$1');
  const isPhrase = /^[\p{L} ]+$/u.test(key) && /\p{L}{2}/u.test(key);
  return isPhrase || /^[A-Ja-j]$/.test(key) ? key.toLowerCase() : key;
}

const isWord = (key: string): boolean => /^\p{L}{2,}$/u.test(key);
