/** What is decided at once, because it is cheaper than telling another thread. */
import { extractAnswer, extractTruth, sameMath } from '../math/check.js';
import { boxedAnswer } from '../math/marks.js';
import type { MathPair } from './rules.js';

/**
 * Longer texts are left to the thread: to find the answer in one of these takes at most a few
 * milliseconds, whatever it is.
 */
const longestText = 1_024;

/** No plain number takes more than some microseconds to compare. */
const plainNumber = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;

/** The answers of a pair, without the text around them: what is left to compare. */
type Undecided = Pick<MathPair, 'response' | 'truth'>;

/**
 * A short pair of equal texts or of plain numbers, or a response without any answer, is decided;
 * otherwise what is left to do.
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

/** Undefined for rules that find answers in ways of their own. */
function answersOf({ rule, response, truth }: MathPair): Undecided | 'none' | undefined {
  if (rule === 'same') return { response, truth };
  if (rule !== 'answer' && rule !== 'boxed') return undefined;
  const answer = rule === 'answer' ? extractAnswer(response) : boxedAnswer(response);
  return answer === undefined ? 'none' : { response: answer, truth: extractTruth(truth) };
}
