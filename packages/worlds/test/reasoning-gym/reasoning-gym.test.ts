/**
 * Compares scores with Reasoning Gym's own: 200 tasks per world, with right, wrong and malformed
 * answers.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { scoreCountdown } from '../../src/worlds/countdown/score.js';
import { scoreSudoku } from '../../src/worlds/sudoku/score.js';

interface Answered {
  readonly answers: readonly string[];
  readonly scores: readonly number[];
}
interface Vectors {
  readonly countdown: readonly (Answered & {
    readonly numbers: readonly number[];
    readonly target: number;
  })[];
  readonly sudoku: readonly (Answered & { readonly solution: readonly (readonly number[])[] })[];
}

const vectors = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
) as Vectors;

it('scores 200 tasks of countdown as Reasoning Gym does', () => {
  const ours = vectors.countdown.map((task) => task.answers.map((a) => scoreCountdown(a, task)));
  expect(ours).toEqual(vectors.countdown.map(({ scores }) => scores));
  expect(ours).toHaveLength(200);
});

it('scores 200 tasks of sudoku as Reasoning Gym does', () => {
  const round = (score: number) => Number(score.toFixed(9));
  const ours = vectors.sudoku.map(({ answers, solution }) =>
    answers.map((answer) => round(scoreSudoku(answer, solution))),
  );
  expect(ours).toEqual(vectors.sudoku.map(({ scores }) => scores.map(round)));
  expect(ours).toHaveLength(200);
});
