/**
 * Small environments for tests of the drivers: a corridor with text actions, a box with tools, and
 * episodes with a grade.
 */
import { defineEnvironment } from '../../seam/define.js';
import type { Action, StepResult } from '../../seam/types.js';
import { nativeEnvironment } from '../../native/native-environment.js';

/**
 * Corridor in which the policy must walk `length` steps to the right. A step to the left ends in a
 * hole.
 */
export const corridor = defineEnvironment({
  name: 'corridor',
  description: 'Walk to the right end.',
  open: () => nativeEnvironment(({ row }) => walk(Number(row['length'] ?? 2))),
  tasks: ({ count, split }) =>
    Array.from({ length: count }, (_, index) => ({ length: 1 + (index % 3), split })),
});

function walk(length: number) {
  let left = length;
  return {
    observation: `${length} steps to the goal`,
    instructions: 'Write right or left.',
    step: (action: Action): StepResult => {
      const word = action.type === 'text' ? action.text : action.name;
      if (word === 'left') return { observation: 'a hole', reward: 0, done: true };
      if (word !== 'right') return { observation: 'no such step', done: false, refused: true };
      left--;
      return {
        observation: `${left} steps to the goal`,
        reward: left === 0 ? 1 : 0,
        done: left === 0,
      };
    },
  };
}

/**
 * Box with a number in it, played with tools: `look` returns the number, and `say` with a number
 * ends the episode.
 */
export const box = defineEnvironment({
  name: 'box',
  description: 'Look into the box, then say its number.',
  open: () => nativeEnvironment(({ row }) => openBox(Number(row['number'] ?? 0))),
  tasks: ({ count }) => Array.from({ length: count }, (_, number) => ({ number })),
});

/** Question that the policy answers with a text action. A tool returns the answer. */
export const quiz = defineEnvironment({
  name: 'quiz',
  description: 'Look, then answer.',
  open: () =>
    nativeEnvironment(() => ({
      observation: 'What is in the box?',
      tools: [tool('look', {})],
      step: (action): StepResult =>
        action.type === 'text'
          ? { observation: 'Thanks.', reward: Number(action.text === '42'), done: true }
          : { observation: '42', done: false },
    })),
  tasks: ({ count }) => Array.from({ length: count }, (_, number) => ({ number })),
});

/**
 * Creates an environment with graded episodes of `steps` steps. The last step has the result `end`;
 * all others have reward 0.
 */
export const graded = (end: Partial<StepResult>, steps: number, grade: () => number = () => 0.25) =>
  defineEnvironment({
    name: 'graded',
    description: 'Act until the end.',
    open: () =>
      nativeEnvironment(() => {
        let left = steps;
        return {
          observation: 'begin',
          step: (): StepResult =>
            --left > 0
              ? { observation: 'next', reward: 0, done: false }
              : { observation: 'end', done: true, ...end },
          grade,
        };
      }),
    tasks: ({ count }) => Array.from({ length: count }, () => ({})),
  });

/** Creates an environment whose steps return the given results. */
export const script = (results: readonly StepResult[]) =>
  defineEnvironment({
    name: 'script',
    description: 'Act.',
    open: () =>
      nativeEnvironment(() => {
        const left = [...results];
        const over = { observation: '', done: true };
        return { observation: 'begin', step: (): StepResult => left.shift() ?? over };
      }),
    tasks: ({ count }) => Array.from({ length: count }, () => ({})),
  });

const tool = (name: string, properties: object) => ({
  type: 'function' as const,
  function: { name, description: `Does ${name}.`, parameters: { type: 'object', properties } },
});

function openBox(number: number) {
  return {
    observation: 'A box.',
    tools: [tool('look', {}), tool('say', { number: { type: 'integer' } })],
    step: (action: Action): StepResult => {
      if (action.type === 'text')
        return { observation: 'Call a tool.', done: false, refused: true };
      if (action.name === 'look') return { observation: `It holds ${number}.`, done: false };
      if (action.name !== 'say')
        return { observation: `There is no ${action.name}.`, done: false, refused: true };
      const isRight = action.arguments['number'] === number;
      return { observation: isRight ? 'Right.' : 'Wrong.', reward: isRight ? 1 : 0, done: true };
    },
  };
}
