/**
 * Decides comparisons on the calling thread if that is cheaper than sending a message to another
 * thread.
 */
import { extractAnswer, extractTruth, sameMath } from '../math/check.js';
import { boxedAnswer } from '../math/marks.js';
import type { MathPair } from './rules.js';

/**
 * Maximum length, in characters, of the texts that are compared on the calling thread. Finding the
 * answer in a text of this length takes at most a few milliseconds.
 */
const longestText = 1_024;

/** Matches numbers that can be compared in microseconds. */
const plainNumber = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;

/** A pair of answers, without the text around them. */
type Undecided = Pick<MathPair, 'response' | 'truth'>;

/**
 * Decides a comparison if both texts are short, and the answers are equal as text, both are plain
 * numbers, or the response has no answer. Otherwise returns what the worker thread must compare.
 */
export function decideInline(pair: MathPair): boolean | MathPair {
  const { rule, response, truth } = pair;
  const answers =
    response.length <= longestText && truth.length <= longestText ? answersOf(pair) : undefined;
  if (answers === undefined) return pair;
  if (answers === 'none') return false;
  const [a, b] = [answers.response.trim(), answers.truth.trim()];
  if (a === b || (plainNumber.test(a) && plainNumber.test(b))) return sameMath(a, b);
  return rule === 'same' ? pair : { rule: 'same', ...answers };
}

/**
 * Returns the answers that the response and the reference contain. Returns `none` if the response
 * has no answer, and undefined for rules that do not extract answers in this way.
 */
function answersOf({ rule, response, truth }: MathPair): Undecided | 'none' | undefined {
  if (rule === 'same') return { response, truth };
  if (rule !== 'answer' && rule !== 'boxed') return undefined;
  const answer = rule === 'answer' ? extractAnswer(response) : boxedAnswer(response);
  return answer === undefined ? 'none' : { response: answer, truth: extractTruth(truth) };
}
