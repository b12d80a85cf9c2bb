import { defineEnvironment, nativeEnvironment, rowsOfSplit } from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { drawPuzzle, solve } from './puzzle.js';
import { type Puzzle, scoreCountdown } from './score.js';

const argsSchema = z.strictObject({
  /** Difficulty. 1: three numbers up to 20; 2: four up to 50; 3: five up to 100. */
  level: z.int().min(1).max(3).default(2),
  /**
   * Reward. 'strict': 1 or 0; 'reasoning_gym': Reasoning Gym's score, which also gives 0.05 for a
   * wrong expression and 0.01 for other text.
   */
  scoring: z.enum(['strict', 'reasoning_gym']).default('strict'),
});

const levels = [
  { count: 3, maxValue: 20, maxTarget: 99 },
  { count: 4, maxValue: 50, maxTarget: 499 },
  { count: 5, maxValue: 100, maxTarget: 999 },
] as const;

const rowSchema = z.object({ numbers: z.array(z.number()).min(1), target: z.number() });

/**
 * Environment that asks for an expression that reaches a given value with given numbers, modelled
 * on Reasoning Gym's `countdown`.
 */
export const countdown = defineEnvironment({
  name: 'countdown',
  description: 'Reach a target by arithmetic over given numbers, in one answer.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 1, actionFormat: '<answer>{action}</answer>', reward: 'sum' },
  open: ({ scoring }) =>
    nativeEnvironment(({ row }) => {
      const puzzle = readRow(rowSchema, row, 'countdown');
      return {
        instructions,
        observation: questionOf(puzzle),
        step: (action) => {
          const answer = action.type === 'text' ? action.text : '';
          const score = scoreCountdown(answer, puzzle);
          const isRight = score === 1 && (scoring !== 'strict' || isPlain(answer));
          const reward = scoring === 'strict' ? Number(isRight) : score;
          return { observation: isRight ? 'Right.' : 'Wrong.', reward, done: true };
        },
        stateKey: () => '',
      };
    }),
  tasks: (range, { level }) =>
    rowsOfSplit(
      range,
      (seed) => ({ ...drawPuzzle(levels[level - 1] ?? levels[1], seed) }),
      (row) => JSON.stringify([row['numbers'], row['target']]),
    ),
  solver: ({ row }) => {
    const answer = solve(readRow(rowSchema, row, 'countdown'));
    return playing(answer === undefined ? [] : [textAction(answer)]);
  },
});

const instructions = `Write an arithmetic expression over the given numbers that has the target as its value.
Use each number exactly once, with + - * / and parentheses, and without an equals sign.
Think, then write the expression as <answer>(1 + 2) * 3</answer>.`;

/** Returns true if the text has only whole numbers, parentheses and + - * /. */
const isPlain = (answer: string): boolean =>
  /^[\d+\-*/()\s]+$/.test(answer) && !/\*\*|\/\//.test(answer);

const questionOf = ({ numbers, target }: Puzzle): string =>
  `Numbers: ${numbers.join(', ')}\nTarget: ${target}`;
