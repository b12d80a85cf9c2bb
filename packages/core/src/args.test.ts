import { describe, expect, it } from 'vitest';
import { booleanArg, choiceArg, listArg, numberArg, pickRow, readArgs, stringArg } from './args.js';
import { ConfigError } from './errors.js';

const spec = {
  clipRange: numberArg(0.2, { min: 0 }),
  clipRatioC: numberArg(3, { above: 1 }),
  threshold: numberArg(undefined, { min: 0, max: 1 }),
  enabled: booleanArg(false),
  level: choiceArg(['group', 'batch'], 'group'),
  pattern: stringArg(),
};
const read = (given?: object): ReturnType<typeof readArgs<typeof spec>> =>
  readArgs('policy loss "ppo"', spec, given);

describe('readArgs', () => {
  it('fills in what is missing, undefined or null', () => {
    const defaults = {
      clipRange: 0.2,
      clipRatioC: 3,
      threshold: undefined,
      enabled: false,
      level: 'group',
      pattern: undefined,
    };
    expect(read()).toEqual(defaults);
    expect(read({ clipRange: null, threshold: undefined })).toEqual(defaults);
    expect(
      read({ clipRange: 0, enabled: true, level: 'batch', threshold: 1, pattern: 'x' }),
    ).toEqual({
      ...defaults,
      clipRange: 0,
      enabled: true,
      level: 'batch',
      threshold: 1,
      pattern: 'x',
    });
  });

  it.each([
    [
      { clipRange: -1 },
      'The argument "clipRange" of policy loss "ppo" is -1; expected a number >= 0.',
    ],
    [
      { clipRange: '0.2' },
      'The argument "clipRange" of policy loss "ppo" is "0.2"; expected a number >= 0.',
    ],
    [
      { clipRatioC: 1 },
      'The argument "clipRatioC" of policy loss "ppo" is 1; expected a number > 1.',
    ],
    [{ clipRatioC: NaN }, 'expected a number > 1.'],
    [{ threshold: 2 }, 'expected a number >= 0 and <= 1.'],
    [{ enabled: 1 }, 'expected true or false.'],
    [{ level: 'task' }, 'expected one of "group", "batch".'],
    [{ pattern: 3 }, 'expected a text.'],
    [
      { clip_range: 0.1 },
      'There is no argument "clip_range" of policy loss "ppo". Did you mean "clipRange"? It takes clipRange, clipRatioC, threshold, enabled, level, pattern.',
    ],
    [{ constructor: 1 }, 'There is no argument "constructor" of policy loss "ppo". It takes'],
  ])('refuses %j', (given, message) => {
    expect(() => read(given)).toThrow(message);
    expect(() => read(given)).toThrow(ConfigError);
  });

  it('says when a strategy takes no arguments', () => {
    expect(() => readArgs('policy loss "sft"', {}, { beta: 1 })).toThrow('It takes none.');
  });
});

describe('pickRow', () => {
  it('finds a row, or says which there are', () => {
    expect(pickRow('KL loss', { k1: 1, k2: 2 }, 'k2')).toBe(2);
    expect(() => pickRow('KL loss', { low_var_kl: 1, abs: 2 }, 'low_var')).toThrow(
      'There is no KL loss "low_var". Did you mean "low_var_kl"? Known: low_var_kl, abs.',
    );
    expect(() => pickRow('KL loss', { abs: 2 }, 'toString')).toThrow(
      'There is no KL loss "toString". Known: abs.',
    );
  });
});

it('reads lists and says what their items are', () => {
  const words = { names: listArg('texts', (item): item is string => typeof item === 'string') };
  expect(readArgs('operator "x"', words)).toEqual({ names: [] });
  expect(readArgs('operator "x"', words, { names: ['a', 'b'] })).toEqual({ names: ['a', 'b'] });
  expect(() => readArgs('operator "x"', words, { names: ['a', 1] })).toThrow(
    'The argument "names" of operator "x" is ["a",1]; expected a list of texts.',
  );
});
