/** Sudoku with a few cells in each step, as in Trinity-RFT. */
import type { World } from '@trinity-rft/environment';
import { type Board, boardText, isConsistent, isSolved, type Puzzle } from './board.js';

interface Move {
  readonly row: number;
  readonly column: number;
  readonly digit: number;
}

/**
 * Creates an episode for one puzzle. A move that cannot be parsed or breaks a rule ends the episode
 * with reward -1. Solving the board ends it with reward 1.
 */
export function movesWorld({ puzzle, solution }: Puzzle, maxMoves: number): World {
  let board: Board = puzzle;
  const last = puzzle.length - 1;
  return {
    instructions: `Complete the sudoku: every row, column and block holds each digit from 1 to ${puzzle.length} once. 0 is an empty cell.
In each step fill 1 to ${maxMoves} empty cells, one on a line: row, column and digit. Rows and columns count from 0 to ${last}.
Write them as
<answer>0 2 4
1 3 2</answer>
A step that breaks a rule ends the game.`,
    observation: boardText(puzzle),
    step: (action) => {
      const moves = readMoves(action.type === 'text' ? action.text : '', puzzle.length, maxMoves);
      const next = moves && filled(board, moves);
      if (next === undefined || !isConsistent(next))
        return { observation: 'That is against the rules.', reward: -1, done: true };
      board = next;
      const done = boardText(board) === boardText(solution) || isSolved(board);
      return { observation: boardText(board), reward: done ? 1 : 0, done };
    },
    stateKey: () => boardText(board),
  };
}

function readMoves(text: string, size: number, most: number): readonly Move[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const moves = lines.flatMap((line) => {
    const [, row, column, digit] = /^\s*(\d)\s+(\d)\s+(\d)\s*$/.exec(line)?.map(Number) ?? [];
    if (row === undefined || column === undefined || digit === undefined) return [];
    const fits = row < size && column < size && digit >= 1 && digit <= size;
    return fits ? [{ row, column, digit }] : [];
  });
  const isWhole = moves.length === lines.length && moves.length >= 1 && moves.length <= most;
  return isWhole ? moves : undefined;
}

/** Returns the board after the moves, or undefined if one of the cells is not empty. */
function filled(board: Board, moves: readonly Move[]): Board | undefined {
  const next = board.map((row) => [...row]);
  for (const { row, column, digit } of moves) {
    const cells = next[row] ?? [];
    if (cells[column] !== 0) return undefined;
    cells[column] = digit;
  }
  return next;
}
