/** Boards of 4 by 4 and 9 by 9 cells: rules, solving and generation. 0 is an empty cell. */
import { type Random, createRandom } from '@trinity-rft/core';

export type Board = readonly (readonly number[])[];

export interface Puzzle {
  readonly puzzle: Board;
  readonly solution: Board;
}

/** Draws a full board, and then empties up to `empty` cells, while the solution stays unique. */
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

/**
 * Finds up to `most` solutions, by filling the cell with the fewest candidates first. `random`
 * shuffles the candidates.
 */
export function solutionsOf(board: Board, most: number, random?: Random): Board[] {
  const size = board.length;
  const grid = board.map((row) => [...row]);
  const taken = takenDigits(board);
  const found: Board[] = [];
  const fill = (): void => {
    const cell = narrowest(grid, taken);
    if (cell === undefined) {
      found.push(grid.map((row) => [...row]));
      return;
    }
    const { row, column } = cell;
    const cells = grid[row] ?? [];
    const candidates = digitsOf(taken.at(row, column), size);
    for (const digit of random?.shuffle(candidates) ?? candidates) {
      cells[column] = digit;
      taken.toggle(row, column, digit);
      fill();
      taken.toggle(row, column, digit);
      if (found.length >= most) return;
    }
    cells[column] = 0;
  };
  fill();
  return found;
}

/** Digits used in each row, column and block, as bit sets. */
interface TakenDigits {
  at(row: number, column: number): number;
  toggle(row: number, column: number, digit: number): void;
}

function takenDigits(board: Board): TakenDigits {
  const size = board.length;
  const side = Math.sqrt(size);
  const [rows, columns, blocks] = [0, 1, 2].map(() => new Uint16Array(size)) as [
    Uint16Array,
    Uint16Array,
    Uint16Array,
  ];
  const blockOf = (row: number, column: number) =>
    Math.floor(row / side) * side + Math.floor(column / side);
  const toggle = (row: number, column: number, digit: number) => {
    const bit = 1 << digit;
    const block = blockOf(row, column);
    rows[row] = (rows[row] ?? 0) ^ bit;
    columns[column] = (columns[column] ?? 0) ^ bit;
    blocks[block] = (blocks[block] ?? 0) ^ bit;
  };
  for (const [row, cells] of board.entries())
    for (const [column, digit] of cells.entries()) if (digit !== 0) toggle(row, column, digit);
  return {
    at: (row, column) =>
      (rows[row] ?? 0) | (columns[column] ?? 0) | (blocks[blockOf(row, column)] ?? 0),
    toggle,
  };
}

const digitsOf = (taken: number, size: number): readonly number[] =>
  Array.from({ length: size }, (_, index) => index + 1).filter((digit) => !((taken >> digit) & 1));

function narrowest(board: Board, taken: TakenDigits) {
  let best: { readonly row: number; readonly column: number } | undefined;
  let fewest = Infinity;
  for (let row = 0; row < board.length; row++)
    for (let column = 0; column < board.length; column++) {
      if (board[row]?.[column] !== 0) continue;
      const count = board.length - bitCount(taken.at(row, column));
      if (count < fewest) {
        fewest = count;
        best = { row, column };
      }
      if (count <= 1) return best;
    }
  return best;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/** Yields the digits of the other cells in the same row, column and block. */
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

/** Returns true if no digit occurs twice in a row, column or block. */
export const isConsistent = (board: Board): boolean =>
  board.every((cells, row) =>
    cells.every(
      (digit, column) => digit === 0 || ![...peersOf(board, row, column)].includes(digit),
    ),
  );

export const isSolved = (board: Board): boolean =>
  board.every((cells) => cells.every((digit) => digit !== 0)) && isConsistent(board);

/** Returns true if a board is solved and keeps the digits of the puzzle. */
export const isSolutionOf = (puzzle: Board, board: Board): boolean =>
  board.length === puzzle.length &&
  board.every(
    (cells) => cells.length === puzzle.length && cells.every((digit) => digit <= puzzle.length),
  ) &&
  puzzle.every((cells, row) =>
    cells.every((digit, column) => digit === 0 || digit === board[row]?.[column]),
  ) &&
  isSolved(board);

export const boardText = (board: Board, blank = '0'): string =>
  board.map((row) => row.map((digit) => digit || blank).join(' ')).join('\n');
