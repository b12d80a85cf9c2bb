import { type RawTask, TaskError } from '@trinity-rft/core';
import {
  type Action,
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import {
  boardText,
  drawPuzzle,
  isConsistent,
  isSolutionOf,
  type Puzzle,
  solutionsOf,
} from './board.js';
import { gridWorld } from './grid-world.js';
import { movesWorld } from './moves-world.js';

const argsSchema = z.strictObject({
  /** Difficulty. 1: 4 by 4 cells; 2: 9 by 9 with 30 empty; 3: 9 by 9 with 50 empty. */
  level: z.int().min(1).max(3).default(2),
  /**
   * Form of the answer. 'grid': the whole board in one answer; 'moves': a few cells in each step.
   */
  answer: z.enum(['grid', 'moves']).default('grid'),
  /**
   * Reward. 'strict': 1 or 0; 'reasoning_gym': Reasoning Gym's score, which is between 0 and 1 for
   * a partly right board.
   */
  scoring: z.enum(['strict', 'reasoning_gym']).default('strict'),
  max_moves_per_step: z.int().min(1).default(5),
});
type Args = z.infer<typeof argsSchema>;

const levels = [
  { size: 4, empty: 8 },
  { size: 9, empty: 30 },
  { size: 9, empty: 50 },
] as const;

const board = z
  .array(z.array(z.int().min(0).max(9)))
  .refine(
    (rows) =>
      [4, 9].includes(rows.length) &&
      rows.every((row) => row.length === rows.length && row.every((d) => d <= rows.length)),
    'expected 4 rows of 4 digits up to 4 or 9 rows of 9, with 0 for an empty cell',
  );
const rowSchema = z
  .object({
    puzzle: board.refine(isConsistent, 'expected no digit twice in a row, column or block'),
    solution: board.optional(),
  })
  .refine(({ puzzle, solution }) => solution === undefined || isSolutionOf(puzzle, solution), {
    path: ['solution'],
    error: 'expected the solution of the puzzle',
  });

/** Sudoku, modelled on Reasoning Gym's `sudoku` and Trinity-RFT's `sudoku_workflow`. */
export const sudoku = defineEnvironment({
  name: 'sudoku',
  description: 'Complete a sudoku, in one answer or cell by cell.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 20, actionFormat: '<answer>{action}</answer>', reward: 'sum' },
  open: (args) =>
    nativeEnvironment(({ row }) =>
      args.answer === 'grid'
        ? gridWorld(puzzleOf(row), args.scoring)
        : movesWorld(puzzleOf(row), args.max_moves_per_step),
    ),
  tasks: (range, { level }) => {
    const { size, empty } = levels[level - 1] ?? levels[1];
    return rowsOfSplit(
      range,
      (seed) => ({ ...drawPuzzle(size, empty, seed) }),
      (row) => JSON.stringify(row['puzzle']),
    );
  },
  solver: ({ row }, args) => playing(solutionTo(puzzleOf(row), args)),
});

/**
 * Returns the puzzle of a row. The solution is the row's, as in rows for Trinity-RFT, or is
 * computed.
 * @throws TaskError if the puzzle has no solution
 */
function puzzleOf(row: RawTask): Puzzle {
  const { puzzle, solution = solutionsOf(puzzle, 1)[0] } = readRow(rowSchema, row, 'sudoku');
  if (solution !== undefined) return { puzzle, solution };
  throw new TaskError(
    `The puzzle of a row has no solution:\n${boardText(puzzle)}\nCorrect it, or leave it out.`,
    { code: 'TASK_ROW' },
  );
}

function solutionTo({ puzzle, solution }: Puzzle, args: Args): readonly Action[] {
  if (args.answer === 'grid') return [textAction(boardText(solution))];
  const moves = puzzle.flatMap((row, r) =>
    row.flatMap((digit, c) => (digit === 0 ? [`${r} ${c} ${solution[r]?.[c]}`] : [])),
  );
  const steps = Math.ceil(moves.length / args.max_moves_per_step);
  return Array.from({ length: steps }, (_, step) => {
    const from = step * args.max_moves_per_step;
    return textAction(moves.slice(from, from + args.max_moves_per_step).join('\n'));
  });
}
