import { createExperience } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { answerPairs, chosenRows } from './preference-pairs.js';
import { readPreferenceRow } from './read-preference-row.js';

const answer = (task: number, run: number, responseText: string, reward: number, step = 0) =>
  createExperience({
    eid: { batch: 1, task, run, step },
    tokens: [1, 2],
    promptLength: 1,
    responseText,
    reward,
    info: { taskset: 'sums', row: task },
  });
const rows = [{ question: '1+1=' }, { question: '2+1=' }, { question: '3+1=' }];
const stored = [
  answer(0, 0, '2', 1),
  answer(0, 1, 'two', 0.5),
  answer(0, 2, 'three', 0),
  answer(1, 0, 'same', 1),
  answer(1, 1, 'same', 0),
  answer(2, 0, 'of two', 1),
  answer(2, 0, 'calls', 1, 1),
  answer(2, 1, '4', 0),
];

it('offers the best and the worst answer, and makes rows of what was chosen', () => {
  const pairs = answerPairs(stored, { rows, promptKey: 'question' });
  expect(pairs).toMatchObject([
    { prompt: '1+1=', answer1: '2', answer2: 'three', preferred: null },
  ]);
  expect(chosenRows(pairs)).toEqual([]);
  const [row] = chosenRows(pairs.map((pair) => ({ ...pair, preferred: 2 })));
  expect(row).toEqual({ prompt: '1+1=', chosen: 'three', rejected: '2' });
  const format = {
    promptType: 'plaintext' as const,
    promptKey: 'prompt',
    responseKey: 'response',
    messagesKey: 'message',
    toolsKey: 'tools',
    chosenKey: 'chosen',
    rejectedKey: 'rejected',
    enableConcatenatedMultiTurn: false,
  };
  expect(readPreferenceRow({ ...row }, format)).toMatchObject({
    chosen: [{ role: 'assistant', content: 'three' }],
  });
});

it('reads exports of Label Studio', () => {
  const data = { prompt: 'p', answer1: 'a', answer2: 'b' };
  const annotated = (value: object, more: object = {}) => ({
    id: 1,
    data,
    annotations: [{ was_cancelled: false, result: [{ type: 'pairwise', value }], ...more }],
  });
  expect(
    chosenRows([
      annotated({ selected: 'right' }),
      annotated({ choices: ['answer1'] }),
      annotated({ selected: 'left' }, { was_cancelled: true }),
      { data, annotations: [] },
    ]),
  ).toEqual([
    { prompt: 'p', chosen: 'b', rejected: 'a' },
    { prompt: 'p', chosen: 'a', rejected: 'b' },
  ]);
});

describe('an item without a choice', () => {
  const data = { prompt: 'p', answer1: 'a', answer2: 'b' };
  const chose = (choice: string) => ({ result: [{ value: { choices: [choice] } }] });

  it('is skipped if people disagree, or have chosen nothing', () => {
    const annotations = [chose('answer1'), chose('answer2')];
    const comment = { result: [{ value: { text: ['Both good.'] } }] };
    expect(
      chosenRows([
        { data, annotations },
        { data, annotations: [comment] },
        { data, annotations: [chose('answer1'), comment, chose('answer1')] },
      ]),
    ).toEqual([{ prompt: 'p', chosen: 'a', rejected: 'b' }]);
  });

  it('is skipped if only another question is answered, or both answers are chosen', () => {
    const both = { result: [{ value: { choices: ['answer1', 'answer2'] } }] };
    const two = { result: [...chose('easy').result, { value: { selected: 'right' } }] };
    const annotated = [chose('easy'), chose('tie'), both, two].map((one) => ({
      data,
      annotations: [one],
    }));
    expect(chosenRows(annotated)).toEqual([{ prompt: 'p', chosen: 'b', rejected: 'a' }]);
  });

  it.each([
    [{ ...data, preferred: '2' }, 'preferred is "2"'],
    [{ text: 'x' }, 'there are no texts prompt, answer1 and answer2'],
    [{ ...data, pref: 'left' }, 'there is no preferred'],
    [
      { data, annotations: [chose('Answer 1')] },
      'the choice "Answer 1" is none of left, right, answer1, answer2',
    ],
  ])('is named if its format is another: %j', (item, problem) => {
    const items = [{ ...data, preferred: null }, item];
    expect(() => chosenRows(items)).toThrow(`Pair 2: ${problem}. Expected the lines`);
    expect(() => chosenRows(items, (index) => `a:${index + 1}`)).toThrow(`a:2: ${problem}. `);
  });
});
