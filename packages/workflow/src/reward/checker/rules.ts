/**
 * Rules that decide whether an answer is correct: those of this package, text comparisons of
 * Trinity-RFT, and regular expressions.
 */
import { checkBoxedAnswer, checkMathAnswer, sameMath } from '../math/check.js';
import { computeScoreV0 } from '../original/boxed.js';
import { verifyMathAnswer } from '../original/math-equal.js';
import { naiveDapoScore } from '../original/naive-dapo.js';

/** Returns true for a correct response. Answers longer than `limit` are compared as plain text. */
type Rule = (response: string, truth: string, limit: number) => boolean;

/** Rules by name, see {@link MathPair.rule}. */
export const rules = {
  /** Compares by {@link checkMathAnswer}. */
  answer: checkMathAnswer,
  /** Compares by {@link checkBoxedAnswer}. */
  boxed: checkBoxedAnswer,
  /** Compares by {@link sameMath}. Both texts must be bare answers, without other text. */
  same: sameMath,
  /** Compares by {@link computeScoreV0}. */
  trinity_boxed: (response, truth) => computeScoreV0(response, truth) === 1,
  trinity_eval: verifyMathAnswer,
  /** Compares by {@link naiveDapoScore}. */
  trinity_dapo: (response, truth) => naiveDapoScore(response, truth) === 1,
  /** Searches the response for a match of `truth`, which is a regular expression. */
  pattern: (response, truth) => new RegExp(truth).test(response),
} as const satisfies Readonly<Record<string, Rule>>;

export type MathRule = keyof typeof rules;

/** A response and the reference answer, to be compared by a rule. */
export interface MathPair {
  readonly rule: MathRule;
  readonly response: string;
  readonly truth: string;
}
