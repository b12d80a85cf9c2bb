/**
 * Creates math checkers, which compare answers with a time limit. Comparisons are made in a worker
 * thread, which is terminated if one takes too long.
 */
import { ConfigError } from '@trinity-rft/core';
import { maxAnswerLength as defaultMaxLength } from '../math/check.js';
import { ThreadedChecker } from './threaded-checker.js';
import type { MathCheckerOptions, MathChecker } from './types.js';

const longestDeadlineMs = 3_600_000;

/**
 * Creates a math checker.
 * @throws ConfigError for a deadline or a length out of range
 */
export function createMathChecker(options: MathCheckerOptions = {}): MathChecker {
  const { deadlineMs = 2_000, maxAnswerLength = defaultMaxLength } = options;
  requireInRange('deadlineMs', deadlineMs, longestDeadlineMs);
  requireInRange('maxAnswerLength', maxAnswerLength, Number.MAX_SAFE_INTEGER);
  return new ThreadedChecker({ deadlineMs, maxAnswerLength });
}

/**
 * The math checker that reward functions share, unless they are given another checker. It has one
 * thread per process, which is started when it is first needed. The checker need not be closed.
 */
export const sharedMathChecker: MathChecker = createMathChecker();

function requireInRange(name: keyof MathCheckerOptions, value: number, most: number): void {
  if (value > 0 && value <= most) return;
  throw new ConfigError(
    `${name} of a math checker is ${value}; expected a number above 0, at most ${most}.`,
    { code: 'MATH_CHECKER_OPTIONS' },
  );
}
