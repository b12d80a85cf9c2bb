import { expect, it } from 'vitest';
import type { Answered } from '../../report/answers.js';
import { answerPairs, noAnswersText } from './answers.js';

const said: Answered = { reward: 1, runs: 1, answers: ['a'], reasons: [] };
const task = { row: 0, question: 'q', truth: undefined, before: said, after: said };

it.each([
  ['none are recorded', [], 'No answers'],
  ['there was one evaluation', [{ set: 's', first: 4, last: 4, tasks: [task] }], 'one evaluation'],
  [
    'two evaluations share no task',
    [
      {
        set: 's',
        first: 0,
        last: 4,
        tasks: [
          { ...task, after: undefined },
          { ...task, row: 1, before: undefined },
        ],
      },
    ],
    'no task in common',
  ],
])('explains why answers are not compared: %s', (_, sets, text) => {
  expect(answerPairs(sets)).toEqual([]);
  expect(noAnswersText(sets)).toContain(text);
});
