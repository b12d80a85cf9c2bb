import { ConfigError, RewardError, type RewardInput } from '@trinity-rft/core';
import { ExactMatch, Levenshtein, NumericDiff, ValidJSON } from 'autoevals';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromScorer, type Scorer } from './from-scorer.js';
import { taskAssertions } from './assertions.js';

const input = (response: string, truth = '42', rawTask = {}): RewardInput => ({
  response,
  truth,
  prompt: 'What is 6 x 7?',
  rawTask,
});
const scored = (scorer: Scorer, response: string, rawTask = {}) =>
  fromScorer(scorer)(input(response, '42', rawTask));

describe('scorers of libraries', () => {
  it.each([
    ['Levenshtein', Levenshtein, '42', 1],
    ['Levenshtein', Levenshtein, '41', 0.5],
    ['ExactMatch', ExactMatch, '42', 1],
    ['ExactMatch', ExactMatch, ' 42', 0],
    ['ValidJSON', ValidJSON, '{"a":[1]}', 1],
    ['ValidJSON', ValidJSON, '{', 0],
  ] as const)('autoevals %s(%s)', async (name, scorer, response, score) => {
    expect(await scored(scorer as Scorer, response)).toEqual({
      parts: { [name]: score },
      reasons: {},
    });
  });

  it('may get an argument of their own', async () => {
    const map = ({ response, truth }: RewardInput) => ({
      output: Number(response),
      expected: Number(truth),
    });
    expect(await fromScorer(NumericDiff as Scorer, { map })(input('42'))).toMatchObject({
      parts: { NumericDiff: 1 },
    });
  });
});

describe('what a scorer returns', () => {
  const returning =
    (value: unknown): Scorer =>
    () =>
      value;

  it.each([
    [0.25, { score: 0.25 }, {}],
    [true, { score: 1 }, {}],
    [{ key: 'exact', score: false, comment: 'no' }, { exact: 0 }, { exact: 'no' }],
    [{ name: 'judge', value: 0.5, comment: 'so so' }, { judge: 0.5 }, { judge: 'so so' }],
    [{ pass: true, score: 0.75, reason: 'near' }, { score: 0.75 }, { score: 'near' }],
    [{ score: 1, metadata: { rationale: 'right' } }, { score: 1 }, { score: 'right' }],
    [
      [
        { name: 'a', score: 1 },
        { name: 'b', score: 0 },
      ],
      { a: 1, b: 0 },
      {},
    ],
  ])('%j', async (value, parts, reasons) => {
    expect(await fromScorer(returning(value))(input('x'))).toEqual({ parts, reasons });
  });

  it.each([
    [null, 'gave no score'],
    [undefined, 'gave no score'],
    [{ name: 'j', score: null }, 'The scorer "j" gave no score'],
    [{ name: 'j', score: 0, error: new Error('no key') }, 'reported an error: no key'],
    [{ name: 'grade', value: 'good' }, 'gave the score "good"'],
    [[{ score: 1 }, { score: 0 }], 'two scores of this name'],
    [[], 'an empty list'],
  ])('%j is a failure, not 0', async (value, message) => {
    const failed = fromScorer(returning(value))(input('x'));
    await expect(failed).rejects.toThrow(RewardError);
    await expect(failed).rejects.toThrow(message);
  });

  it('has the name of the object, of the function, or a given one', async () => {
    const exact = ({ output }: { output: string }) => Number(output === '42');
    expect(await scored(exact, '42')).toMatchObject({ parts: { exact: 1 } });
    expect(await scored({ name: 'evalite', scorer: exact }, '42')).toMatchObject({
      parts: { evalite: 1 },
    });
    const assess = async () => ({ score: 0, metadata: { rationale: 'no' } });
    expect(await scored({ name: 'judge', assess }, '42')).toEqual({
      parts: { judge: 0 },
      reasons: { judge: 'no' },
    });
    expect(await fromScorer(exact, { name: 'mine' })(input('42'))).toMatchObject({
      parts: { mine: 1 },
    });
  });

  it('cannot be an object without a function', () => {
    expect(() => fromScorer({ name: 'x' } as unknown as Scorer)).toThrow('an object with name');
  });
});

describe('assertions of promptfoo', () => {
  it('are read from the column of the task, with its variables', async () => {
    const reward = fromScorer(taskAssertions);
    const assert = [
      { type: 'contains', value: '{{name}}' },
      { type: 'not-contains', value: 'sorry' },
      { type: 'latency', threshold: 5000 },
    ];
    const row = { response: 'Hello Ada, sorry.', truth: undefined, prompt: 'Hi' };
    expect(await reward({ ...row, rawTask: { assert, vars: { name: 'Ada' } } })).toEqual({
      parts: { assertions: 0.5 },
      reasons: { assertions: 'Do not hold: not-contains "sorry". Not checked: latency.' },
    });
    for (const rawTask of [{}, { assert: [{ type: 'llm-rubric', value: 'kind' }] }])
      await expect(reward({ ...row, rawTask })).rejects.toThrow(
        'no assertion that can be checked in its column "assert"',
      );
  });

  it.each([
    [{ type: 'equals', value: '42' }, '42', 1],
    [{ type: 'equals', value: { a: 1 } }, '{ "a": 1 }', 1],
    [{ type: 'not-equals', value: '42' }, '42', 0],
    [{ type: 'contains', value: '4' }, 'is 42', 1],
    [{ type: 'not-contains', value: 'sorry' }, 'sorry', 0],
    [{ type: 'icontains', value: 'YES' }, 'yes', 1],
    [{ type: 'contains-any', value: ['a', 'b'] }, 'b', 1],
    [{ type: 'contains-all', value: 'a, b' }, 'b', 0],
    [{ type: 'icontains-all', value: ['A', 'b'] }, 'aB', 1],
    [{ type: 'icontains-any', value: ['A', 'x'] }, 'a', 1],
    [{ type: 'starts-with', value: 'The' }, 'The end', 1],
    [{ type: 'regex', value: '^\\d+$' }, '42', 1],
    [{ type: 'contains-any', value: 'red, green,' }, 'hello', 0],
    [{ type: 'not-contains-any', value: ['', 'red'] }, 'hello', 1],
    [{ type: 'equals', value: '' }, '', 1],
    [{ type: 'levenshtein', value: '' }, 'four', 1],
    [{ type: 'is-json' }, '[1]', 1],
    [{ type: 'is-json', value: null }, '[1]', 1],
    [{ type: 'is-json' }, 'so: [1]', 0],
    [{ type: 'contains-json' }, 'so: {"a": "}"} end', 1],
    [{ type: 'contains-json' }, 'so: {a}', 0],
    [{ type: 'levenshtein', value: 'kitten', threshold: 3 }, 'sitting', 1],
    [{ type: 'levenshtein', value: 'kitten', threshold: 2 }, 'sitting', 0],
    [{ type: 'equals', value: { a: 1, b: [{ c: 2, d: 3 }] } }, '{"b":[{"d":3,"c":2}],"a":1}', 1],
    [{ type: 'equals', value: [1, 2] }, '[2,1]', 0],
    [{ type: 'equals', value: null }, 'null', 1],
    [{ type: 'equals', value: null }, 'nothing', 0],
  ])('%j of %s is %d', async (assertion, response, score) => {
    expect(await scored(assertion, response)).toMatchObject({ parts: { assertions: score } });
  });

  it('are a mean by weight, name what does not hold, and read columns of the task', async () => {
    const list = [
      { type: 'contains', value: '{{city}}', weight: 3 },
      { type: 'not-contains', value: 'sorry' },
    ];
    expect(await scored(list, 'sorry, Paris', { city: 'Paris' })).toEqual({
      parts: { assertions: 0.75 },
      reasons: { assertions: 'Do not hold: not-contains "sorry".' },
    });
  });

  it.each([
    ['{{country.code}}', 1],
    ['{{ country.names.0 }}', 1],
    ['{{dotted.name}}', 1],
    ['{{country.names}}', 0],
  ])('read %s from the columns of the task', async (value, score) => {
    const row = { country: { code: 'FR', names: ['FR', 'France'] }, 'dotted.name': 'FR' };
    expect(await scored({ type: 'equals', value }, 'FR', row)).toMatchObject({
      parts: { assertions: score },
    });
    expect(
      await scored({ type: 'contains-any', value: '{{country.names}}' }, 'France', row),
    ).toMatchObject({
      parts: { assertions: 1 },
    });
  });

  it.each([
    [
      'contains',
      '{{answr}}',
      'has {{answr}}, but the task has no value under "answr"; its columns are answer, city',
    ],
    ['not-contains', '{{answr}}', 'no value under "answr"'],
    ['equals', '{{constructor}}', 'no value under "constructor"'],
    ['contains', '{{answer}}', 'of "{{answer}}" has no value to compare the answer with'],
    ['contains-any', ['{{answer}}'], 'has no value to compare'],
    ['regex', '({{city}}', 'which is not a regular expression'],
  ])('%s %j fails where the task does not fill it', async (type, value, says) => {
    const failed = scored({ type, value }, 'Paris', { answer: '', city: 'Paris' });
    await expect(failed).rejects.toThrow(RewardError);
    await expect(failed).rejects.toThrow(says);
  });

  it('may compare with an empty column', async () => {
    expect(await scored({ type: 'equals', value: '{{answer}}' }, '', { answer: '' })).toMatchObject(
      { parts: { assertions: 1 } },
    );
  });

  it('do not block the process by a pattern that takes forever', async () => {
    const failed = scored({ type: 'not-regex', value: '^(a+)+$' }, `${'a'.repeat(60)}!`);
    await expect(failed).rejects.toThrow('The pattern "^(a+)+$" of an assertion took too long.');
  });

  it('need a type each', async () => {
    const list = [{ type: 'contains', value: '4' }, { value: '2' }];
    const says = 'Entry 1 of a list of assertions is {"value":"2"}';
    expect(() => fromScorer(list as unknown as Scorer)).toThrow(says);
    const own = fromScorer(taskAssertions)(input('42', '', { assert: list }));
    await expect(own).rejects.toThrow(says);
  });

  it.each([
    [{ weight: '1' }, 'the weight "1"'],
    [{ weight: -1 }, 'the weight -1'],
    [{ weight: NaN }, 'the weight NaN'],
    [{ weight: 1n }, 'the weight 1'],
    [{ threshold: '3' }, 'the threshold "3"'],
  ])('need numbers as weights and thresholds, not %o', async (amounts, says) => {
    const [a, b] = ['levenshtein', 'contains'].map((type) => ({ type, value: '4', ...amounts }));
    const list = [a, b] as unknown as Scorer;
    expect(() => fromScorer(list)).toThrow(
      `The assertion "levenshtein" has ${says}; expected a number of at least 0.`,
    );
    await expect(
      fromScorer(taskAssertions)(input('42', '', { assert: list })),
    ).rejects.toMatchObject({ code: 'SCORER_FORM' });
  });

  it('have the default weight and threshold where a row has null', async () => {
    const nulls = { weight: null, threshold: null };
    const assert = [
      { type: 'levenshtein', value: '4', ...nulls },
      { type: 'contains', value: '9', weight: 3 },
    ];
    expect(await fromScorer(taskAssertions)(input('42', '', { assert }))).toMatchObject({
      parts: { assertions: 0.25 },
    });
  });

  it('that ask a model are refused by name', () => {
    expect(() => fromScorer({ type: 'llm-rubric', value: 'nice' })).toThrow(
      'There is no assertion "llm-rubric"',
    );
  });

  it.each(['equals', 'not-contains', 'contains-any', 'starts-with', 'regex', 'levenshtein'])(
    'of the type %s need a value',
    (type) => {
      expect(() => fromScorer({ type })).toThrow(ConfigError);
      expect(() => fromScorer({ type })).toThrow(`The assertion "${type}" has no value`);
    },
  );

  it.each([
    ['contains', '', 'has no value'],
    ['not-regex', '', 'has no value'],
    ['contains-all', ' , ', 'has no value'],
    ['icontains-any', [''], 'has no value'],
    ['is-json', { type: 'object' }, 'has a JSON schema, which is not supported'],
    ['not-contains-json', 'file://schema.json', 'has a JSON schema'],
    ['regex', '(', 'has the value "(", which is not a regular expression'],
  ])('of the type %s do not take the value %j', (type, value, says) => {
    expect(() => fromScorer({ type, value })).toThrow(ConfigError);
    expect(() => fromScorer({ type, value })).toThrow(`The assertion "${type}" ${says}`);
  });

  it('have patterns with columns of the task', async () => {
    const [type, value] = ['regex', '^[{{low}}-{{high}}]$'];
    expect(await scored({ type, value }, '5', { low: '3', high: '6' })).toMatchObject({
      parts: { assertions: 1 },
    });
  });

  it.each([
    { type: 'equals' },
    { type: 'regex', value: '(' },
    { type: 'is-json', value: { type: 'object' } },
    { type: 'llm-rubric', value: 'nice', weight: '1' },
  ])('are not checked in the column of a task where they cannot be: %j', async (assertion) => {
    const assert = [assertion, { type: 'contains', value: '4' }];
    expect(await fromScorer(taskAssertions)(input('42', '', { assert }))).toMatchObject({
      parts: { assertions: 1 },
      reasons: { assertions: expect.stringContaining(`Not checked: ${assertion.type}.`) },
    });
  });

  it('are named with what is wrong where a task has none that can be checked', async () => {
    const assert = [
      { type: 'contians', value: '4' },
      { type: 'regex', value: '(' },
      { type: 'equals' },
    ];
    const failed = fromScorer(taskAssertions)(input('42', '', { assert }));
    for (const says of [
      'The type "contians" is not checked. ',
      'The assertion "regex" has the value "(", which is not a regular expression. ',
      'The assertion "equals" has no value to compare the answer with. ',
    ])
      await expect(failed).rejects.toThrow(says);
  });

  it('are not checked in the column of a task that cannot fill them', async () => {
    const empty = { type: 'contains', value: '{{city}}' };
    const assert = [empty, { type: 'contains', value: '4' }];
    const reward = fromScorer(taskAssertions);
    expect(await reward(input('42', '', { assert, city: null }))).toEqual({
      parts: { assertions: 1 },
      reasons: {
        assertions:
          'All assertions hold. Not checked: contains. The assertion "contains" has {{city}}, but the task has no value under "city"; its columns are assert, city. Correct the name, or give the task a value.',
      },
    });
    await expect(reward(input('42', '', { assert: [empty], city: null }))).rejects.toThrow(
      'in its column "assert". The assertion "contains" has {{city}}, but the task has no value under "city"',
    );
  });

  it('have names that cannot be columns as text', async () => {
    const held = { parts: { assertions: 1 } };
    expect(await scored({ type: 'contains', value: 'x_{{1}}' }, 'x_{{1}}')).toMatchObject(held);
    expect(await scored({ type: 'contains', value: '{{}}' }, '{{}}')).toMatchObject(held);
    expect(await scored({ type: 'contains', value: '{{1}}' }, 'b', { 1: 'b' })).toMatchObject(held);
  });

  it.each([
    ['', 1],
    ['c', 1],
    ['cc', 0],
  ])('compare long texts to their end: %s', async (end, score) => {
    const text = 'ab'.repeat(50_000);
    const near = (response: string, value: string) =>
      scored({ type: 'levenshtein', value, threshold: 1 }, response);
    const expected = { parts: { assertions: score } };
    expect(await near(text + end, text)).toMatchObject(expected);
    expect(await near(text, text + end)).toMatchObject(expected);
    expect(await near(text + end, text + end.replaceAll('c', 'd'))).toMatchObject(expected);
  });

  it('find the edit distance that autoevals finds', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 9 });
    const threshold = fc.constantFrom(0, 1, 2.5, 4, 100);
    const holds = async (response: string, value: string, most: number): Promise<void> => {
      const { score } = await Levenshtein({ output: response, expected: value });
      const edits = Math.round((1 - (score ?? 0)) * Math.max(response.length, value.length));
      expect(await scored({ type: 'levenshtein', value, threshold: most }, response)).toMatchObject(
        { parts: { assertions: Number(edits <= most) } },
      );
    };
    await fc.assert(fc.asyncProperty(text, text, threshold, holds));
  });

  it('end soon with brackets that close nothing', async () => {
    const response = '{['.repeat(100_000);
    expect(await scored({ type: 'contains-json' }, response)).toMatchObject({
      parts: { assertions: 0 },
    });
  });
});
