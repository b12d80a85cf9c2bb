import { ConfigError, ModelError, stringArg, type RawTask } from '@trinity-rft/core';
import { readArgs } from '@trinity-rft/core/support';
import { describe, expect, it } from 'vitest';
import { defineTaskOperator, type TaskOperatorDefinition } from './definition/operator.js';
import {
  describeDropped,
  runTaskPipeline,
  type PipelineResult,
  type PipelineStep,
  type TaskPipelineOptions,
} from './run-pipeline.js';
import { taskOperators, taskOperatorTable } from './table.js';

type Args = Readonly<Record<string, unknown>>;

const stepOf = (definition: TaskOperatorDefinition, args: Args = {}): PipelineStep => ({
  definition,
  args: readArgs(definition.name, definition.args, args),
});

function step(name: string, args: Args = {}): PipelineStep {
  const definition = taskOperatorTable().find(name);
  if (!definition) throw new Error(`no ${name}`);
  return stepOf(definition, args);
}

const run = (
  rows: readonly RawTask[],
  steps: readonly PipelineStep[],
  options: Partial<TaskPipelineOptions> = {},
) => runTaskPipeline(rows, { steps, fields: ['text'], concurrency: 2, ...options });

const texts = (...all: readonly unknown[]): readonly RawTask[] => all.map((text) => ({ text }));
const textsOf = (rows: readonly RawTask[]): readonly unknown[] => rows.map(({ text }) => text);

describe('built-in operators', () => {
  it.each<[string, Args, readonly unknown[], readonly unknown[]]>([
    [
      'text_length_filter',
      { minLen: 2, maxLen: 3 },
      ['a', 'ab', '👍👍👍', 'abcd'],
      ['ab', '👍👍👍'],
    ],
    ['text_length_filter', {}, ['123456789', '1234567890'], ['1234567890']],
    ['text_length_filter', { minLen: 1 }, [undefined, null, '', [1]], [[1]]],
    [
      'alphanumeric_filter',
      { minRatio: 0.5 },
      ['a!', 'a!!', '質問', '', 'é٣'],
      ['a!', '質問', 'é٣'],
    ],
    ['alphanumeric_filter', { minRatio: 0, maxRatio: 0.5 }, ['ab', 'a-'], ['a-']],
    [
      'repetition_filter',
      { n: 2, maxRatio: 0.5 },
      ['ababab', 'abcdef', 'aaaa', 'a'],
      ['abcdef', 'a'],
    ],
    ['document_deduplicator', {}, ['a', 'A', 'a', 'b'], ['a', 'A', 'b']],
    ['document_deduplicator', { lowercase: true }, ['a', 'A', 'b'], ['a', 'b']],
    ['document_deduplicator', { ignoreNonCharacter: true }, ['a 1', 'a2', 'b'], ['a 1', 'b']],
    ['required_fields_filter', {}, ['x', ' ', null, 0], ['x', 0]],
    ['required_fields_filter', { fields: ['text', 'more'] }, ['x', 1], []],
    [
      'specified_field_filter',
      { fieldKey: 'text', targetValue: ['a', 2] },
      ['a', 'b', 2],
      ['a', 2],
    ],
    [
      'specified_numeric_field_filter',
      { fieldKey: 'text', minValue: 1, maxValue: 2 },
      [0, 1, 2, 3, '1'],
      [1, 2],
    ],
    ['order_by', { fieldKey: 'text' }, ['b', 3, null, 'a', 1], [1, 3, 'a', 'b', null]],
    ['order_by', { fieldKey: 'text', descending: true }, [1, null, 3], [3, 1, null]],
  ])('%s %j', async (name, args, before, after) => {
    const kept = await run(texts(...before, 'kept by nobody else'), [step(name, args)]).catch(
      () => ({
        rows: [],
      }),
    );
    expect(textsOf(kept.rows).filter((text) => text !== 'kept by nobody else')).toEqual(after);
  });

  it('read columns inside of others', async () => {
    const rows = [4, 3, 2, 1].map((level) => ({
      extra: { level, text: `task number ${level}`, tags: ['a', `b${level}`] },
    }));
    const fieldKey = 'extra.level';
    const steps = [
      step('required_fields_filter', { fields: ['extra.text'] }),
      step('text_length_filter'),
      step('document_deduplicator'),
      step('specified_field_filter', {
        fieldKey: 'extra.tags',
        targetValue: ['a', 'b1', 'b2', 'b3'],
      }),
      step('specified_numeric_field_filter', { fieldKey, minValue: 2 }),
      step('order_by', { fieldKey }),
    ];
    const levels = async (options: Partial<TaskPipelineOptions>) =>
      (await run(rows, steps, { fields: ['extra.text'], ...options })).rows.map(
        ({ extra }) => (extra as { readonly level: number }).level,
      );
    expect(await levels({})).toEqual([2, 3]);
    expect(await levels({ weights: { 'extra.level': 1 } })).toEqual([3, 2]);
  });

  it('order by no column that all tasks lack', async () => {
    const steps = [step('order_by', { fieldKey: 'levl' })];
    await expect(run(texts('a', 'b'), steps)).rejects.toThrow(
      'Task operator "order_by" names the column "levl", under which no task has a value. The columns of the first one are text.',
    );
    const grades = defineTaskOperator({
      name: 'grades',
      args: { judge: stringArg('The model.') },
      auxiliaryModel: 'judge',
      create: () => async (_task, context) => ({ set: { levl: await context.ask([]) } }),
    });
    const graded = [stepOf(grades), ...steps];
    expect((await run(texts('a', 'b'), graded)).rows).toHaveLength(2);
    await expect(run(texts('a', 'b'), [...steps, stepOf(grades)])).rejects.toThrow('"levl"');
    const asked = run(texts('a', 'b'), graded, { ask: async () => '' });
    await expect(asked).rejects.toThrow('"levl"');
    const none = [step('text_length_filter', { minLen: 9 }), ...steps];
    await expect(run(texts('a', 'b'), none)).rejects.toThrow('leaves none of 2 tasks');
  });

  it('name the column that they lack', () => {
    const lacking = taskOperators.filter(({ args }) => 'fieldKey' in args);
    expect(lacking).toHaveLength(3);
    for (const definition of lacking) {
      const { args } = stepOf(definition);
      expect(() => definition.create(args)).toThrow(ConfigError);
      expect(() => definition.create(args)).toThrow(/needs field_key/);
    }
  });

  it.each([
    ['{"score": 1} no, {"score": 4}', 0.8],
    ['{ "score" : "5" }', 1],
    ['{"score": 3.5}', 0.7],
  ])('grade by the last score of an answer: %j', async (answer, score) => {
    const steps = [step('llm_quality_score_filter', { minScore: 0 })];
    const { rows } = await run([{ text: 'x' }], steps, { ask: async () => answer });
    expect(rows).toEqual([{ text: 'x', llm_quality_score: score }]);
  });

  it.each(['{"score": 9}', 'score 3', ''])('leave out a task without one: %j', async (answer) => {
    const steps = [step('llm_quality_score_filter', { minScore: 0 })];
    const result = run([{ text: 'x' }], steps, { ask: async () => answer });
    await expect(result).rejects.toThrow('an answer without a score 1');
  });
});

describe('runTaskPipeline', () => {
  const grade = step('llm_difficulty_score_filter', { minScore: 0.5, inputKeys: ['text'] });
  const rows = texts(2, 4, 1, 3, 5, 4);
  const ask: TaskPipelineOptions['ask'] = async ({ messages, row }) => {
    // Answers come back in another order than they were asked for.
    for (let i = row; i < 9; i++) await Promise.resolve();
    return `{"score": ${JSON.stringify(messages.at(-1)).match(/\d/)?.[0] ?? ''}}`;
  };

  it('is independent of the order of answers, and orders by the usual weights', async () => {
    const all = [];
    for (const concurrency of [1, 2, 9])
      all.push(await run(rows, [grade], { ask, concurrency, topK: 3 }));
    expect(all[1]).toEqual(all[0]);
    expect(all[2]).toEqual(all[0]);
    // Easy ones first; of equals, in the order of the file.
    expect(textsOf(all[0]?.rows ?? [])).toEqual([3, 4, 4]);
    expect(describeDropped(all[0]?.dropped ?? [])).toBe(
      'llm_difficulty_score_filter 2 (score not within 0.5 to 1 2); top_k 1 (not among the first 3 1)',
    );
  });

  it('keeps what a model would be asked about, where none may be asked', async () => {
    const { rows: kept } = await run(rows, [grade, step('order_by', { fieldKey: 'text' })]);
    expect(textsOf(kept)).toEqual([1, 2, 3, 4, 4, 5]);
    expect(kept[0]).toHaveProperty('llm_difficulty_score', 0);
  });

  it('weighs columns, each scaled to 0 to 1, and puts tasks without a number last', async () => {
    const weighed = [
      { text: 'a', x: 10, y: 0 },
      { text: 'b', y: 1 },
      { text: 'c', x: 20, y: 0.5 },
      { text: 'd', x: 11, y: 1 },
    ];
    const result = await run(weighed, [], { weights: { x: 1, y: 2 } });
    expect(textsOf(result.rows)).toEqual(['d', 'c', 'a', 'b']);
    expect(result.unordered).toBe(1);
  });

  const failing = new ModelError('overloaded.', { status: 503 });

  it('counts calls that fail, and stops when consecutive calls do', async () => {
    const result = await run(rows, [grade], {
      concurrency: 1,
      ask: (question) =>
        question.row < 3 && question.row > 0 ? Promise.reject(failing) : ask(question),
    });
    expect(describeDropped(result.dropped)).toContain('the model did not answer 2');
    let calls = 0;
    const hopeless = run(texts(...Array.from({ length: 100 }, () => 1)), [grade], {
      ask: () => (calls++, Promise.reject(failing)),
    });
    await expect(hopeless).rejects.toThrow(
      '8 consecutive calls of its model failed, for rows 0, 1, 2, 3, 4, 5, 6, 7. The last one: overloaded. If the model cannot answer these rows, lower num_process, raise explorer.max_timeout, or leave the rows out.',
    );
    expect(calls).toBeLessThan(12);
  });

  it('stops when the model no longer answers, but not for tasks that it refuses', async () => {
    const many = texts(...Array.from({ length: 100 }, () => 4));
    const failsFrom = (first: number, error: ModelError): Promise<PipelineResult> =>
      run(many, [grade], {
        concurrency: 1,
        ask: (question) => (question.row < first ? ask(question) : Promise.reject(error)),
      });
    await expect(failsFrom(5, failing)).rejects.toThrow(
      /8 consecutive calls .* The last one: overloaded. 5 answers are kept/,
    );
    const tooLong = new ModelError('too long', { status: 400 });
    expect((await failsFrom(37, tooLong)).rows).toHaveLength(37);
    await expect(failsFrom(0, tooLong)).rejects.toThrow('8 consecutive calls');
    await expect(failsFrom(36, tooLong)).rejects.toThrow(
      /64 consecutive calls .* rows 36, 37, .* 43 and 56 others. The last one: too long/,
    );
    const differing = await run(many, [grade], {
      concurrency: 1,
      ask: (question) =>
        question.row === 0
          ? ask(question)
          : Promise.reject(new ModelError(`too long by ${question.row}`, { status: 400 })),
    });
    expect(differing.rows).toHaveLength(1);
  });

  it('names the operator and the row of an error, and what asks a model unannounced', async () => {
    const broken = defineTaskOperator({
      name: 'broken',
      create:
        () =>
        ({ text }) => {
          if (text === 1) throw new Error('oh');
          return undefined;
        },
    });
    await expect(run(rows, [stepOf(broken)])).rejects.toThrow('"broken" failed on row 2: oh');
    const asks = defineTaskOperator({
      name: 'asks',
      create: () => async (_task, context) => ({ set: { answer: await context.ask([]) } }),
    });
    await expect(run(rows, [stepOf(asks)])).rejects.toThrow(
      'Set auxiliaryModel in defineTaskOperator',
    );
  });

  it('makes no more calls after an error, and waits for those in flight', async () => {
    let [calls, ended] = [0, 0];
    const breaks = defineTaskOperator({
      name: 'breaks',
      args: {},
      auxiliaryModel: 'judge',
      create:
        () =>
        async ({ text }: RawTask, context: { ask: (messages: never[]) => Promise<string> }) => {
          if (text === 1) throw new Error('oh');
          await context.ask([]);
          return undefined;
        },
    } as never);
    const slow = async (): Promise<string> => {
      calls++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      ended++;
      return '';
    };
    const all = texts(...Array.from({ length: 50 }, (_, i) => i));
    await expect(run(all, [stepOf(breaks)], { ask: slow, concurrency: 4 })).rejects.toThrow('oh');
    expect([calls, ended]).toEqual([3, 3]);
  });

  it('ends when it is stopped', async () => {
    const signal = AbortSignal.abort();
    await expect(run(rows, [grade], { ask, signal })).rejects.toThrow('was stopped');
  });
});

describe('taskOperatorTable', () => {
  it('refuses a name twice', () => {
    const own = defineTaskOperator({ name: 'order_by', create: () => () => undefined });
    expect(() => taskOperatorTable([own])).toThrow(
      'A task operator named "order_by" exists already',
    );
  });
});
