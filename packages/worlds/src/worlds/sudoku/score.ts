import { type Board, boardText } from './board.js';

/**
 * Returns the score of an answer as in Reasoning Gym 0.1.25, `sudoku`: 1 for the solution as lines
 * of digits separated by spaces, otherwise 0.9 times the share of right cells. If the answer is
 * longer than the solution, the score is multiplied by the length of the solution divided by that
 * of the answer.
 */
export function scoreSudoku(answer: string, solution: Board): number {
  if (answer === '') return 0;
  const right = boardText(solution);
  const trimmed = answer
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
  const score = trimmed === right ? 1 : 0.9 * shareRight(answer, solution);
  return answer.length > right.length ? (score * right.length) / answer.length : score;
}

function shareRight(answer: string, solution: Board): number {
  const lines = answer
    .split('\n')
    .map((line) => (line.match(/[1-9]/g) ?? []).map(Number))
    .filter((digits) => digits.length === solution.length);
  const rows = solution.map((row, index) =>
    row.filter((digit, column) => digit === lines[index]?.[column]),
  );
  return rows.flat().length / solution.length ** 2;
}
