import { describe, expect, it } from 'vitest';
import { promptfoo } from './promptfoo.js';

const read = (test: object, rest: Readonly<Record<string, unknown>> = {}) =>
  promptfoo.read({ prompts: ['In {{language}}: {{word}}'], tests: [test], ...rest });
const equals = (value: unknown) => ({ type: 'equals', value });

describe('promptfoo', () => {
  it('fills the variables of the reference answer', () => {
    const vars = { country: { name: 'France', code: 'FR' }, capital: 'Paris' };
    const prompts = ['Capital of {{country.name}}?'];
    for (const [value, truth] of [
      ['{{ capital }}, {{country.code}}', 'Paris, FR'],
      [
        ['{{capital}}', 5],
        ['Paris', 5],
      ],
      [5, 5],
    ])
      expect(read({ vars, assert: [equals(value)] }, { prompts })).toMatchObject([
        { messages: [{ content: 'Capital of France?' }], truth },
      ]);
  });

  it('makes a task of each combination of listed values', () => {
    const vars = {
      language: ['Spanish', 'French'],
      word: ['dog', 'cat'],
      scores: [1, 2],
      none: [],
    };
    const tasks = read({ vars, assert: [equals('{{language}} {{word}}')] });
    expect(tasks.map((task) => 'truth' in task && task.truth)).toEqual([
      'Spanish dog',
      'Spanish cat',
      'French dog',
      'French cat',
    ]);
    expect(tasks[3]).toMatchObject({
      messages: [{ content: 'In French: cat' }],
      fields: { vars: { language: 'French', word: 'cat', scores: [1, 2], none: [] } },
    });
  });

  it.each([{ ofTest: { disableVarExpansion: true } }, { ofAll: { disableVarExpansion: true } }])(
    'keeps lists whole if asked to: %j',
    ({ ofTest: options, ofAll }) => {
      const test = { vars: { language: ['Spanish', 'French'], word: 'dog' }, options };
      expect(read(test, { defaultTest: { options: ofAll } })).toMatchObject([
        { messages: [{ content: 'In ["Spanish","French"]: dog' }] },
      ]);
    },
  );

  it.each([
    [{ vars: { language: 'en' } }, 'a template names a variable that the test lacks'],
    [
      { vars: { language: 'en', word: 'a' }, assert: [equals('{{ größe }}')] },
      'a template names a variable that the test lacks',
    ],
    [{ vars: { language: 'en', word: 'file://a.txt' } }, 'a variable is in another file'],
    [{ vars: { language: ['en'], word: ['a', 'file://a.txt'] } }, 'a variable is in another file'],
    [
      { vars: { language: 'en', word: 'a' }, assert: [equals('file://a.txt')] },
      'an answer is in another file',
    ],
    [
      { vars: { language: 'en', word: 'a' }, assert: [equals('{{ word | upper }}')] },
      'a template has a filter or an expression, which is not evaluated here',
    ],
    [
      {
        vars: Object.fromEntries(
          ['language', 'word', 'c', 'd', 'e'].map((name) => [name, Array(20).fill('x')]),
        ),
      },
      'the lists of a test have too many combinations',
    ],
    [
      { vars: { language: 'en', word: 'a' }, assert: equals('a') },
      'the assert of a test is not a list',
    ],
    [{ vars: { language: 'en', word: 'a' }, assert: ['a'] }, 'an assertion is not an object'],
    [{ vars: { language: 'en', word: 'a' }, assert: [{ value: 'a' }] }, 'an assertion has no type'],
    [
      { vars: { language: 'en', word: 'a' }, asserts: [equals('a')] },
      'a test has a key that is not read',
    ],
  ])('reports the fault of %j', (test, reason) => {
    expect(read(test)).toContainEqual(
      expect.objectContaining({ reason: expect.stringContaining(reason) }),
    );
  });

  it('names an unread key of a test and of the default test once, whatever the prompts', () => {
    const vars = { language: 'en', word: 'a' };
    const given = { prompts: ['{{word}}', '{{language}}'], defaultTest: { asserts: [] } };
    const items = read({ vars, expected: 'a' }, given);
    expect(items.flatMap((item) => ('reason' in item ? [item.detail] : []))).toEqual([
      'asserts',
      'expected',
    ]);
    expect(items).toHaveLength(4);
  });

  it.each([{ ofTest: true }, { ofTest: false }])(
    'marks assertions whose answer code would change, and takes no answer from them: %j',
    ({ ofTest }) => {
      const word = { vars: { language: 'en', word: 'a' } };
      const assert = [equals('A'), equals('b')];
      const given = (options: object, rest: object = { assert }) =>
        ofTest
          ? read({ ...word, ...rest, options })
          : read({ ...word, ...rest }, { defaultTest: { options } });
      const transform = 'output.trim()';
      const marked = assert.map((each) => ({ ...each, transform }));
      for (const options of [
        { transform },
        { postprocess: transform },
        { transform, postprocess: null },
      ]) {
        const [task] = given(options);
        expect(task).toMatchObject({ fields: { ...word, assert: marked } });
        expect(task).not.toHaveProperty('truth');
      }
      for (const transform of ['', false, null])
        expect(given({ transform })).toMatchObject([{ truth: 'A', fields: { assert } }]);
      const [first, second] = [{ ...equals('A'), transform }, equals('b')];
      expect(given({}, { assert: [first, second] })).toMatchObject([{ truth: 'b' }]);
      expect(given({ transformVars: '' })).toMatchObject([{ truth: 'A' }]);
      expect(given({ transformVars: '{}' })).toMatchObject([
        { reason: expect.stringContaining('a test transforms its variables') },
      ]);
    },
  );

  it('names settings of a test that the reward does not use', () => {
    const vars = { language: 'en', word: 'a' };
    const settings = { threshold: 0.5, assertScoringFunction: 'file://s.js' };
    const reason = expect.stringContaining('a test has a key that is not read');
    expect(read({ vars, ...settings })).toMatchObject([
      { reason, detail: 'threshold' },
      { reason, detail: 'assertScoringFunction' },
      { fields: { vars } },
    ]);
  });

  it('puts the texts of the options around the prompt', () => {
    const test = { vars: { language: 'en', word: 'a' }, options: { suffix: ' {{word}}!' } };
    const defaultTest = { options: { prefix: 'Hi. ', suffix: '?' } };
    expect(read(test, { defaultTest })).toMatchObject([
      { messages: [{ content: 'Hi. In en: a a!' }] },
    ]);
    const none = { ...test, options: { prefix: null, suffix: null } };
    expect(read(none, { defaultTest })).toMatchObject([{ messages: [{ content: 'In en: a' }] }]);
    for (const [suffix, reason] of [
      [{ text: '!' }, 'the suffix of a prompt is not a text'],
      ['file://a.txt', 'the suffix of a prompt is in another file; write it into this one'],
    ])
      expect(read({ ...test, options: { suffix } })).toMatchObject([{ reason }]);
  });

  it('writes the assertions of templates', () => {
    const named = (name: string) => ({ $ref: `#/assertionTemplates/${name}` });
    const assertionTemplates = {
      five: equals('{{word}}'),
      short: { type: 'latency', threshold: 5 },
    };
    const test = {
      vars: { language: 'en', word: 'a' },
      assert: [named('short'), { type: 'assert-set', assert: [named('five')] }],
    };
    const defaultTest = { assert: [named('five')] };
    const { five, short } = assertionTemplates;
    expect(read(test, { defaultTest, assertionTemplates })).toMatchObject([
      { truth: 'a', fields: { assert: [five, short, { type: 'assert-set', assert: [five] }] } },
    ]);
    for (const ref of ['#/assertionTemplates/toString', 'other.yaml#/five', 5])
      expect(read({ ...test, assert: [{ $ref: ref }] }, { assertionTemplates })).toEqual([
        {
          reason: 'an assertion refers to a template that the file lacks',
          detail: JSON.stringify(ref),
        },
      ]);
  });

  it('writes keys beside a reference over those of the template, which may refer to others', () => {
    const named = (name: string, own = {}) => ({ $ref: `#/assertionTemplates/${name}`, ...own });
    const assertionTemplates = {
      fast: { type: 'latency', threshold: 5 },
      faster: named('fast', { threshold: 2 }),
      set: { type: 'assert-set', assert: [named('fast'), named('faster')] },
      loop: { type: 'assert-set', assert: [named('end')] },
      end: named('loop'),
    };
    const tasksOf = (name: string, own = {}) =>
      read(
        { vars: { language: 'en', word: 'a' }, assert: [named(name, own)] },
        { assertionTemplates },
      );
    const latency = (threshold: number) => ({ type: 'latency', threshold });
    for (const [task, assertion] of [
      [tasksOf('fast', { threshold: 1 }), latency(1)],
      [tasksOf('faster'), latency(2)],
      [tasksOf('set'), { type: 'assert-set', assert: [latency(5), latency(2)] }],
    ])
      expect(task).toMatchObject([{ fields: { assert: [assertion] } }]);
    expect(tasksOf('end')).toMatchObject([{ reason: 'a template of assertions contains itself' }]);
  });

  it('reports scenarios, which it does not read', () => {
    const scenarios = [{ config: [], tests: [] }];
    const reason = 'scenarios are not read; write their tests into `tests`';
    expect(read({ vars: { language: 'en', word: 'a' } }, { scenarios })).toMatchObject([
      { reason },
      { messages: [{ content: 'In en: a' }] },
    ]);
    const record = { prompts: ['Hi'], scenarios };
    expect(promptfoo.detect(record)).toBe(true);
    for (const tests of [undefined, null])
      expect(promptfoo.read({ ...record, tests })).toEqual([{ reason }]);
  });

  it.each([{}, { tests: null }, { tests: [] }])('reports that there are no tests: %j', (rest) => {
    expect(() => promptfoo.read({ prompts: ['Hi'], ...rest })).toThrow('there are no tests');
  });

  it('reports default values of another file', () => {
    expect(() => read({ vars: {} }, { defaultTest: 'file://default.yaml' })).toThrow(
      'the default test is in another file',
    );
  });
});
