/** Sudoku with the whole board in one answer. */
import type { World } from '@trinity-rft/environment';
import { boardText, isSolutionOf, type Puzzle } from './board.js';
import { scoreSudoku } from './score.js';

export function gridWorld(
  { puzzle, solution }: Puzzle,
  scoring: 'strict' | 'reasoning_gym',
): World {
  const size = puzzle.length;
  return {
    instructions: `Complete the sudoku: every row, column and block holds each digit from 1 to ${size} once. _ is an empty cell.
Think, then write all ${size} rows as digits with a space between, inside <answer> and </answer>.`,
    observation: boardText(puzzle, '_'),
    step: (action) => {
      const answer = action.type === 'text' ? action.text.trim() : '';
      const lines = digits(answer);
      const isRight =
        lines.join('\n') === solution.map((row) => row.join('')).join('\n') ||
        isSolutionOf(
          puzzle,
          lines.map((line) => Array.from(line, Number)),
        );
      const score = scoring === 'strict' ? Number(isRight) : scoreSudoku(answer, solution);
      return { observation: isRight ? 'Right.' : 'Wrong.', reward: score, done: true };
    },
    stateKey: () => '',
  };
}

/** Returns the digits of each line that is not empty, without border characters and spaces. */
const digits = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/[\s|]/g, ''))
    .filter((line) => line !== '');
