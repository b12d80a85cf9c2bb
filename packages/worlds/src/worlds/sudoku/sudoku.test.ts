import { silentLogger } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { drawPuzzle, isSolved, solutionsOf } from './board.js';
import { sudoku } from './definition.js';

const { signal } = new AbortController();
const puzzle = [
  [1, 2, 3, 0],
  [3, 4, 0, 2],
  [2, 1, 4, 3],
  [4, 3, 2, 1],
];

async function begin(args: Readonly<Record<string, unknown>>, row = { puzzle }) {
  const environment = await sudoku.open(args, { logger: silentLogger, signal });
  const episode = await environment.reset({ row, seed: 0 }, signal);
  return (text: string) => episode.step({ type: 'text', text }, signal);
}

it.each([
  [4, 8],
  [9, 50],
])('draws boards of %d by it with one solution and %d empty cells', (size, empty) => {
  const drawn = drawPuzzle(size, empty, 11);
  expect(isSolved(drawn.solution)).toBe(true);
  expect(solutionsOf(drawn.puzzle, 2)).toEqual([drawn.solution]);
  expect(drawn.puzzle.flat().filter((digit) => digit === 0)).toHaveLength(empty);
});

it('takes moves, pays 1 for the last one, and ends with -1 when a rule is broken', async () => {
  const good = await begin({ answer: 'moves' });
  expect(await good('0 3 4')).toMatchObject({ reward: 0, done: false });
  expect(await good('1 2 1')).toMatchObject({ reward: 1, done: true });
  for (const wrong of ['0 0 4', '0 3 2', '0 3', 'hm', '0 3 9', ''])
    expect(await (await begin({ answer: 'moves' }))(wrong)).toMatchObject({
      reward: -1,
      done: true,
    });
});

it('takes the board in one answer, with or without lines between', async () => {
  const right = '1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1';
  expect(await (await begin({}))(right.replaceAll(' ', ' | '))).toMatchObject({ reward: 1 });
  expect(await (await begin({}))(right.replace('4', '1'))).toMatchObject({ reward: 0, done: true });
  const parts = await begin({ scoring: 'reasoning_gym' });
  expect((await parts(right.replace('4', '1'))).reward).toBeCloseTo((0.9 * 15) / 16);
});

it('refuses rows that break the rules', async () => {
  const broken = { puzzle: [[1, 1, 0, 0], ...puzzle.slice(1)] };
  await expect(begin({}, broken)).rejects.toThrow(/no digit twice/);
  const large = { puzzle: [[1, 2, 3, 5], ...puzzle.slice(1)] };
  await expect(begin({}, large)).rejects.toThrow(/4 rows of 4 digits up to 4/);
  const other = { puzzle, solution: puzzle.toReversed() };
  await expect(begin({}, other)).rejects.toThrow(/expected the solution of the puzzle/);
});

it('takes every solution of a puzzle that has several', async () => {
  const empty = puzzle.map((row) => row.map(() => 0));
  const right = ['1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1', '4 3 2 1\n2 1 4 3\n3 4 1 2\n1 2 3 4'];
  for (const answer of right)
    expect(await (await begin({}, { puzzle: empty }))(answer)).toMatchObject({ reward: 1 });
  const wrong = [
    '1 2 3 4',
    `${right[0]}\n1 2 3 4`,
    'a b c d\n'.repeat(4),
    right[0]?.replace('4', '5'),
  ];
  for (const answer of [...wrong, right[1]?.replaceAll('1', '5')])
    expect(await (await begin({}, { puzzle: empty }))(answer ?? '')).toMatchObject({ reward: 0 });
  expect(await (await begin({}))(right[1] ?? '')).toMatchObject({ reward: 0 });
});

it.each(['grid', 'moves'])('refuses a puzzle without a solution: %s', async (answer) => {
  const none = [
    [1, 2, 3, 0],
    [0, 0, 0, 4],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ];
  await expect(begin({ answer }, { puzzle: none })).rejects.toThrow(/has no solution/);
});
