/** Boards of 4 by 4 and 9 by 9 cells: rules, search and generation. 0 is an empty cell. */
import type { Random } from '@trinity-rft/core';
import { createRandom } from '@trinity-rft/core/internal';

export type Board = readonly (readonly number[])[];

export interface Puzzle {
  readonly puzzle: Board;
  readonly solution: Board;
}

/** Draws a full board and empties cells while the solution stays the only one. */
export function drawPuzzle(size: number, empty: number, seed: number): Puzzle {
  const random = createRandom(seed);
  const solution = solutionsOf(emptyBoard(size), 1, random)[0] ?? emptyBoard(size);
  const puzzle = solution.map((row) => [...row]);
  let left = empty;
  for (const cell of random.shuffle(Array.from({ length: size * size }, (_, index) => index))) {
    if (left === 0) break;
    const row = puzzle[Math.floor(cell / size)] ?? [];
    const digit = row[cell % size] ?? 0;
    row[cell % size] = 0;
    if (solutionsOf(puzzle, 2).length === 1) left--;
    else row[cell % size] = digit;
  }
  return { puzzle, solution };
}

const emptyBoard = (size: number): number[][] =>
  Array.from({ length: size }, () => Array.from({ length: size }, () => 0));

/** The first solutions, found by filling the cell with the fewest candidates. */
export function solutionsOf(board: Board, most: number, random?: Random): Board[] {
  const grid = board.map((row) => [...row]);
  const found: Board[] = [];
  const fill = (): void => {
    const cell = narrowest(grid);
    if (cell === undefined) {
      found.push(grid.map((row) => [...row]));
      return;
    }
    const row = grid[cell.row] ?? [];
    for (const digit of random?.shuffle(cell.candidates) ?? cell.candidates) {
      row[cell.column] = digit;
      fill();
      if (found.length >= most) return;
    }
    row[cell.column] = 0;
  };
  fill();
  return found;
}

interface Cell {
  readonly row: number;
  readonly column: number;
  readonly candidates: readonly number[];
}

function narrowest(board: Board): Cell | undefined {
  let best: Cell | undefined;
  for (const [row, cells] of board.entries())
    for (const [column, digit] of cells.entries()) {
      if (digit !== 0) continue;
      const candidates = candidatesOf(board, row, column);
      if (best === undefined || candidates.length < best.candidates.length)
        best = { row, column, candidates };
      if (candidates.length <= 1) return best;
    }
  return best;
}

function candidatesOf(board: Board, row: number, column: number): readonly number[] {
  let taken = 0;
  for (const digit of peersOf(board, row, column)) taken |= 1 << digit;
  return board.flatMap((_, index) => ((taken >> (index + 1)) & 1 ? [] : [index + 1]));
}

/** The digits in the same row, column and block, this cell's not among them. */
function* peersOf(board: Board, row: number, column: number): Generator<number> {
  const size = board.length;
  const side = Math.sqrt(size);
  const top = row - (row % side);
  const left = column - (column % side);
  for (let i = 0; i < size; i++) {
    if (i !== column) yield board[row]?.[i] ?? 0;
    if (i !== row) yield board[i]?.[column] ?? 0;
    const [r, c] = [top + Math.floor(i / side), left + (i % side)];
    if (r !== row && c !== column) yield board[r]?.[c] ?? 0;
  }
}

/** Does no digit occur twice in a row, column or block? */
export const isConsistent = (board: Board): boolean =>
  board.every((cells, row) =>
    cells.every(
      (digit, column) => digit === 0 || ![...peersOf(board, row, column)].includes(digit),
    ),
  );

export const isSolved = (board: Board): boolean =>
  board.every((cells) => cells.every((digit) => digit !== 0)) && isConsistent(board);

export const boardText = (board: Board, blank = '0'): string =>
  board.map((row) => row.map((digit) => digit || blank).join(' ')).join('\n');
