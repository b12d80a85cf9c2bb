import { expect, it } from 'vitest';
import { numberArg } from './args.js';
import { checkDefinition } from './definition.js';

const formOf = { score: 'function', args: 'args?', schema: 'schema?', class: 'workflow?' } as const;
const score = (): number => 1;
const check = (options: object): string =>
  checkDefinition('Reward function', { name: 'bad', ...options } as never, formOf as never);

it('returns the name of options that have the right form', () => {
  const schema = { '~standard': { validate: () => ({ value: 1 }) } };
  const args = { floor: numberArg(1) };
  expect(check({ score, args, schema, name: 'my-own/part' })).toBe('my-own/part');
});

it.each([
  [{}, 'Reward function "bad" has no `score`; expected a function.'],
  [{ score: 3 }, 'Reward function "bad" has 3 as `score`; expected a function.'],
  [
    { scores: () => 1 },
    'Reward function "bad" has no option "scores". Did you mean "score"? It takes name, score, args, schema, class.',
  ],
  [{ score, schema: { depth: 'number' } }, "has { depth: 'number' } as `schema`; expected"],
  [{ score, schema: null }, 'has null as `schema`; expected a schema of zod'],
  [{ score, args: { depth: 3 } }, 'has { depth: 3 } as `args`; expected arguments by name'],
  [{ score, class: (): number => 1 }, 'as `class`; expected a class that extends Workflow.'],
  [{ name: 'a b' }, 'Reward function name "a b" is invalid.'],
  [{ name: undefined }, 'Reward function name undefined is invalid.'],
])('refuses %#', (options, message) => {
  expect(() => check(options)).toThrow(message);
});
