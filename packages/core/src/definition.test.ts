import { expect, it } from 'vitest';
import { checkDefinition } from './definition.js';

const score = (): number => 1;
const formOf = { score: 'function', world: 'class', args: 'schema' } as const;
const check = (options: object): string => {
  const given = { name: 'bad', score, world: class {}, args: undefined, ...options };
  return checkDefinition('Reward function', given, formOf);
};

it('returns the name of a definition that has its functions', () => {
  const args = { '~standard': { validate: () => ({ value: 1 }) } };
  expect(check({ args, name: 'my-own/part' })).toBe('my-own/part');
  expect(check({ args: null })).toBe('bad');
  expect(check({ unset: undefined })).toBe('bad');
});

it.each([
  [{ score: undefined }, 'Reward function "bad" has no `score`; expected a function.'],
  [{ score: 3 }, 'Reward function "bad" has 3 as `score`; expected a function.'],
  [{ world: score }, 'as `world`; expected a class.'],
  [{ args: { depth: 'number' } }, "has { depth: 'number' } as `args`; expected a schema of zod"],
  [
    { scroe: score },
    'Reward function "bad" has no option "scroe". Did you mean "score"? Known: name, ',
  ],
  [{ kind: 'trinity-rft.reward' }, 'Reward function "bad" is a definition already; expected'],
  [{ name: 'a b' }, 'Reward function name "a b" is invalid.'],
  [{ name: undefined }, 'Reward function name undefined is invalid.'],
])('refuses %#', (options, message) => {
  expect(() => check(options)).toThrow(message);
});
