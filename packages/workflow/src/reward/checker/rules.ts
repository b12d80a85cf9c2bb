/**
 * Rules that decide if an answer is correct: rules of this package, text rules of Trinity-RFT, and
 * regular expressions.
 */
import { checkBoxedAnswer, checkMathAnswer, sameMath } from '../math/check.js';
import { computeScoreV0 } from '../original/boxed.js';
import { verifyMathAnswer } from '../original/math-equal.js';
import { naiveDapoScore } from '../original/naive-dapo.js';

/** Returns true for a correct response. Answers longer than `limit` are compared as plain text. */
type Rule = (response: string, truth: string, limit: number) => boolean;

/** Rules by the names that {@link MathPair} uses. */
export const rules = {
  /** {@link checkMathAnswer} */
  answer: checkMathAnswer,
  /** {@link checkBoxedAnswer} */
  boxed: checkBoxedAnswer,
  /** {@link sameMath}, for texts that are just answers. */
  same: sameMath,
  /** {@link computeScoreV0} */
  trinity_boxed: (response, truth) => computeScoreV0(response, truth) === 1,
  trinity_eval: verifyMathAnswer,
  /** {@link naiveDapoScore} */
  trinity_dapo: (response, truth) => naiveDapoScore(response, truth) === 1,
  /** Searches the response for the regular expression `truth`. */
  pattern: (response, truth) => new RegExp(truth).test(response),
} as const satisfies Readonly<Record<string, Rule>>;

export type MathRule = keyof typeof rules;

/** A response and the reference answer, to be compared by a rule. */
export interface MathPair {
  readonly rule: MathRule;
  readonly response: string;
  readonly truth: string;
}
