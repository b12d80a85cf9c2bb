/** `countdown_reward`: rewards an expression over all given numbers that reaches the target. */
import { booleanArg, numberArg, type RewardInput, RewardError } from '@trinity-rft/core';
import { rewardKind } from './shared/reward-kind.js';
import { pythonValue } from '../math/python-expression.js';
import { requireTruth } from './shared/inputs.js';

interface Puzzle {
  readonly target: number;
  readonly numbers: readonly number[];
}

/**
 * Scores the last `<answer>..</answer>` of the last line. The reward is `score` if the value is
 * within 1e-5 of the target, `format_score` for any other answer, and 0 if there is no answer. The
 * truth is JSON: `{"target": 98, "numbers": [44, 19, 35]}`. Each number must be used exactly once.
 * Source: `countdown_reward` of Trinity-RFT 0.5.2 (after TinyZero), which evaluates expressions
 * with Python.
 */
export const countdownReward = rewardKind('countdown_reward', {
  summary: 'Does the expression use every number of the puzzle once and reach its target?',
  parts: {
    score: '1 when it does, 0.1 for an answer that does not, 0 without an answer on the last line',
  },
  args: {
    score: numberArg(1, undefined, 'Value of a right expression.'),
    format_score: numberArg(0.1, undefined, 'Value of an answer that is wrong or cannot be read.'),
    powers: booleanArg(false, 'Is ** allowed in addition to + - * and /, as in Trinity-RFT?'),
  },
  create: (options) => (input) => {
    const puzzle = readPuzzle(input);
    const answer = answerOf(input.response);
    if (answer === undefined) return { score: 0 };
    return { score: solves(answer, puzzle, options.powers) ? options.score : options.format_score };
  },
});

function answerOf(response: string): string | undefined {
  const line = response.slice(response.lastIndexOf('\n') + 1);
  let answer: string | undefined;
  for (let open = line.indexOf('<answer>'); open >= 0;) {
    const close = line.indexOf('</answer>', open);
    if (close < 0) break;
    answer = line.slice(open + '<answer>'.length, close).trim();
    open = line.indexOf('<answer>', close);
  }
  return answer;
}

/** Returns true if the text has only whole numbers, brackets and the operators of the puzzle. */
const isReadable = (answer: string, powers: boolean): boolean =>
  /^[\d+\-*/()\s]+$/.test(answer) && !answer.includes('//') && (powers || !answer.includes('**'));

function solves(answer: string, { target, numbers }: Puzzle, powers: boolean): boolean {
  if (!isReadable(answer, powers)) return false;
  const used = (answer.match(/\d+/g) ?? []).map(Number);
  if (sorted(used) !== sorted(numbers)) return false;
  const value = pythonValue(answer);
  return value !== undefined && Math.abs(value - target) < 1e-5;
}

const sorted = (numbers: readonly number[]): string => numbers.toSorted((a, b) => a - b).join();

function readPuzzle(input: RewardInput): Puzzle {
  const truth = requireTruth('countdown_reward', input);
  let puzzle: unknown;
  let cause: unknown;
  try {
    puzzle = JSON.parse(truth);
  } catch (error) {
    cause = error;
  }
  if (isPuzzle(puzzle)) return puzzle;
  throw new RewardError(
    `The expected answer of a countdown_reward task is ${truth.slice(0, 80)}; expected JSON like ` +
      '{"target": 98, "numbers": [44, 19, 35]}. Change the row, or name the right column in ' +
      'format.response_key of the task set.',
    { code: 'REWARD_TRUTH_INVALID', cause },
  );
}

function isPuzzle(value: unknown): value is Puzzle {
  if (typeof value !== 'object' || value === null) return false;
  const { target, numbers } = value as Partial<Puzzle>;
  return (
    typeof target === 'number' &&
    Array.isArray(numbers) &&
    numbers.every((each) => typeof each === 'number')
  );
}
