import { describe, expect, it } from 'vitest';
import { defaultFormatArgs, taskPrompt, taskTruth, type Task } from './task.js';

const task = (rawTask: Task['rawTask']): Task => ({
  taskId: 0,
  batchId: 0,
  workflow: 'math_workflow',
  rawTask,
  formatArgs: { ...defaultFormatArgs, promptKey: 'question', responseKey: 'answer' },
  rolloutArgs: {},
  workflowArgs: {},
  rewardFnArgs: {},
  repeatTimes: 1,
  isEval: false,
  index: { taskset: 't', row: 0 },
});

describe('prompt and truth of a task', () => {
  it('are the texts under the keys of its format', () => {
    const one = task({ question: '1+1?', answer: '2' });
    expect([taskPrompt(one), taskTruth(one)]).toEqual(['1+1?', '2']);
  });

  it('are JSON where the row holds something else, and undefined where it holds nothing', () => {
    expect([
      taskTruth(task({ answer: 2 })),
      taskTruth(task({ answer: { target: 98 } })),
      taskTruth(task({ answer: null })),
      taskPrompt(task({})),
    ]).toEqual(['2', '{"target":98}', undefined, undefined]);
  });

  it('lie below columns where the key has dots and no column has its name', () => {
    const nested = task({ extra: { truth: '2', 'a.b': '3' }, 'extra.plain': '4' });
    const truthAt = (responseKey: string) =>
      taskTruth({ ...nested, formatArgs: { ...nested.formatArgs, responseKey } });
    expect(
      ['extra.truth', 'extra.plain', 'extra.a.b', 'extra.none', 'none.truth'].map(truthAt),
    ).toEqual(['2', '4', undefined, undefined, undefined]);
  });
});
