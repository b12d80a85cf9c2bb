/** Makes comparisons that are cheaper than a message to another thread. */
import { extractAnswer, extractTruth, sameMath } from '../math/check.js';
import { boxedAnswer } from '../math/marks.js';
import type { MathPair } from './rules.js';

/**
 * Maximum characters of a text that is handled here; longer texts are sent to the thread. Finding
 * the answer in a text of this length takes a few milliseconds at most.
 */
const longestText = 1_024;

/** Numbers that can be compared in microseconds. */
const plainNumber = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;

/** A pair of answers, without the text around them. */
type Undecided = Pick<MathPair, 'response' | 'truth'>;

/**
 * Decides short pairs that are equal texts or plain numbers, and responses without an answer;
 * otherwise returns the pair that remains to be compared.
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
 * Answers in both texts; `none` for a response without an answer, undefined for rules that find
 * answers in their own way.
 */
function answersOf({ rule, response, truth }: MathPair): Undecided | 'none' | undefined {
  if (rule === 'same') return { response, truth };
  if (rule !== 'answer' && rule !== 'boxed') return undefined;
  const answer = rule === 'answer' ? extractAnswer(response) : boxedAnswer(response);
  return answer === undefined ? 'none' : { response: answer, truth: extractTruth(truth) };
}
