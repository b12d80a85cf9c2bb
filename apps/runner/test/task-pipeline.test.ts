// Tests the pipeline that filters, scores and orders tasks before the run.
import { existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planConfig, renderPlan } from '@trinity-rft/config';
import { checkFiles, readConfiguration } from '@trinity-rft/launcher';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
const calls: string[] = [];
let finish = 'stop';
let onCall: () => void = () => undefined;

/** Grader that scores `a+b=` as 5 - a % 5; its answer has no score for 3+..., and it fails for 4+.... */
const grader = createServer((request, response) => {
  void text(request).then((body) => {
    const { messages } = JSON.parse(body) as { messages: readonly { content: string }[] };
    const question = messages.at(-1)?.content ?? '';
    calls.push(question);
    onCall();
    const first = Number(/(\d+)\+/.exec(question)?.[1]);
    const content = first === 3 ? 'Hard to say.' : `Well.\n{"score": ${5 - (first % 5)}}`;
    const message = { role: 'assistant', content, refusal: null };
    response
      .writeHead(first === 4 ? 400 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ choices: [{ index: 0, finish_reason: finish, message }] }));
  });
});

const plugin = `
import { numberArg } from '@trinity-rft/core';
import { defineTaskOperator } from '@trinity-rft/buffer';
export const withoutDigit = defineTaskOperator({
  name: 'without_digit',
  args: { digit: numberArg(0, { min: 0, max: 9 }, 'The digit.') },
  create: ({ digit }) => ({ question }) =>
    String(question).includes(String(digit)) ? { drop: 'has the digit ' + digit } : { set: { checked: true } },
});
`;

const format = { prompt_key: 'question', response_key: 'answer' };

/** Pipeline over 102 tasks: 0+0= to 9+9=, and 7+5= twice more. */
const pipeline: Tree = {
  operators: [
    { name: 'document_deduplicator' },
    { name: 'without_digit', args: { digit: 9 } },
    { name: 'llm_difficulty_score_filter', args: { min_score: 0.3, input_keys: ['question'] } },
  ],
  inputs: ['tasks.jsonl', 'more.jsonl'],
  priority_weights: { difficulty: 1 },
  top_k: 40,
};

let settings: Tree;
beforeAll(async () => {
  await new Promise<void>((resolve) => grader.listen(0, '127.0.0.1', resolve));
  workspace = await createWorkspace();
  workspace.write('operators/operators.ts', plugin);
  workspace.write('tasks.csv', 'question,answer\n');
  workspace.write('more.jsonl', '{"question":"7+5=","answer":"2"}\n'.repeat(2));
  const url = `http://127.0.0.1:${(grader.address() as AddressInfo).port}/v1`;
  const judge = { name: 'judge', model_path: 'grader', base_url: url, api_key: 'none' };
  settings = {
    plugins: [path.join(workspace.root, 'operators')],
    explorer: { auxiliary_models: [judge] },
    data_processor: { task_pipeline: pipeline },
    buffer: {
      total_steps: 2,
      explorer_input: {
        tasksets: [{ name: 'sums', format }],
      },
    },
  };
});
afterAll(() => (grader.closeAllConnections(), grader.close()));

const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const made = (name: string, file: string) =>
  workspace
    .read(path.join(job(name), 'task_pipeline', file))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const recordOf = (name: string) => ({
  digest: weightsDigest(job(name)),
  rows: usedRows(path.join(job(name), 'buffer/experience_buffer.db')),
});
let files = 0;
const start = (name: string, ...over: readonly Tree[]) =>
  runHere(workspace, workspace.config(`${files++}.yaml`, settings, { name }, ...over));

/**
 * Output of `trinity config plan`.
 * @throws the errors of `trinity config check`
 */
async function planOf(over: Tree): Promise<string> {
  const configPath = workspace.config('planned.yaml', settings, { name: 'planned' }, over);
  const options = { configPath, cwd: workspace.root, pluginDirs: ['plugins'], env: {} };
  const { loaded, ...extensions } = await readConfiguration(options);
  const { signal } = new AbortController();
  return renderPlan(planConfig(loaded.config, await checkFiles(loaded, extensions, { signal })));
}

const tasksAsked = 81;

describe('a task pipeline', () => {
  it('makes the tasks of a run once, says what it left out, and is kept when the run goes on', async () => {
    const { error, output } = await start('one');
    expect(error).toBeUndefined();
    expect(calls).toHaveLength(tasksAsked);
    expect(output).toContain('40 of 102 tasks are left');
    expect(output).toContain('document_deduplicator 2 (the text of an earlier task 2)');
    expect(output).toContain('without_digit 19 (has the digit 9 19)');
    expect(output).toContain('an answer without a score 9');
    expect(output).toContain('the model did not answer 9');
    expect(output).toContain('top_k');
    const tasks = made('one', 'sums.jsonl');
    // The hardest tasks come first: 0+... and 5+... have the difficulty 1, 1+... and 6+... have
    // 0.8.
    expect(tasks).toHaveLength(40);
    expect(tasks[0]).toEqual({
      question: '0+0=',
      answer: '0',
      checked: true,
      llm_difficulty_score: 1,
    });
    expect(tasks.map(({ llm_difficulty_score: score }) => score)).toEqual(
      tasks
        .map(({ llm_difficulty_score: score }) => score)
        .toSorted((a, b) => Number(b) - Number(a)),
    );
    const dropped = made('one', 'sums.dropped.jsonl');
    expect(dropped).toHaveLength(62);
    expect(dropped.find(({ row }) => row === 30)).toMatchObject({ details: 'Hard to say.' });
    expect(usedRows(path.join(job('one'), 'buffer/experience_buffer.db'))).toHaveLength(2 * 16);

    const changed: Tree = {
      buffer: { total_steps: 3 },
      data_processor: { task_pipeline: { ...pipeline, top_k: 10 } },
    };
    const again = await start('one', changed);
    expect(again.error).toBeUndefined();
    expect(again.output).toContain('data_processor.task_pipeline.top_k: changed from 40 to 10');
    expect(again.output).toContain('takes no effect: the tasks were made when the run began');
    expect(calls).toHaveLength(tasksAsked);
    expect(metricLines(job('one')).filter(({ role }) => role === 'trainer')).toHaveLength(3);
    expect(made('one', 'sums.jsonl')).toHaveLength(40);

    const without = await start(
      'one',
      { data_processor: { task_pipeline: null } },
      {
        buffer: { explorer_input: { tasksets: [{ name: 'sums', path: 'tasks.jsonl', format }] } },
      },
    );
    expect(without.error?.message).toMatch(/The run began with a task pipeline/);
    workspace.write('runs/tests/one/task_pipeline/sums.jsonl', '{"question":"1+1="}\n');
    expect((await start('one', changed)).error?.message).toContain(
      'is not what the task pipeline wrote',
    );
  });

  it('goes on where it was interrupted, without asking again', async () => {
    calls.length = 0;
    const stop = new AbortController();
    onCall = () => void (calls.length === 30 && stop.abort());
    const config = workspace.config('two.yaml', settings, { name: 'two' });
    const { summary } = await runHere(workspace, config, { signal: stop.signal });
    onCall = () => undefined;
    expect(summary).toMatchObject({ interrupted: true });
    expect(existsSync(path.join(job('two'), 'task_pipeline/sums.jsonl'))).toBe(false);
    const { error } = await runHere(workspace, config);
    expect(error).toBeUndefined();
    // Questions in flight, and those that had failed, are asked once more.
    const answered = calls.filter((question) => !/\b4\+/.test(question));
    expect(answered.length).toBeLessThanOrEqual(tasksAsked - 9 + 4);
  });

  it('is run by the trainer alone where explorers are processes of their own', async () => {
    calls.length = 0;
    const [explorer, trainer] = await Promise.all([
      start('apart', { mode: 'explore', explorer: { name: 'one' } }),
      start('apart', { mode: 'train' }),
    ]);
    expect([explorer.error, trainer.error]).toEqual([undefined, undefined]);
    expect(calls).toHaveLength(tasksAsked);
    expect(recordOf('apart')).toEqual(recordOf('two'));
    const file = 'explorers/one/task_pipeline/sums.jsonl';
    expect(workspace.read(path.join(job('apart'), file))).toBe(
      workspace.read(path.join(job('apart'), 'task_pipeline/sums.jsonl')),
    );
  });

  it('is checked and planned without asking a model', async () => {
    calls.length = 0;
    const plan = await planOf({});
    expect(plan).toContain('the task pipeline keeps at most 40 of 102 tasks of sums');
    expect(plan).toContain('left out: document_deduplicator 2');
    expect(plan).toContain('task_operator');
    expect(calls).toEqual([]);
  });

  it.each([
    [{ operators: [{ name: 'human_preference_annotation_mapper' }] }, 'with the command pairs'],
    [{ operators: [{ name: 'text_lenght_filter' }] }, 'Did you mean "text_length_filter"'],
    [{ operators: [{ name: 'order_by' }] }, 'order_by needs field_key'],
    [
      { operators: [{ name: 'llm_quality_score_filter', args: { api_or_hf_model: 'qwen' } }] },
      'explorer.auxiliary_models has judge',
    ],
    [{ operators: [{ name: 'text_length_filter', args: { min_len: 99 } }] }, 'leaves none of 100'],
    [{ priority_weights: { usage_frequency: 1 } }, 'no task has a column "usage_frequency"'],
    [{ inputs: ['nowhere.jsonl'] }, 'task_pipeline.inputs[0]'],
    [{ inputs: ['tasks.csv'] }, 'data_processor.task_pipeline.inputs: '],
    [
      { operators: [{ name: 'specified_field_filter', args: { field_key: 'level' } }] },
      'the first task has question, answer',
    ],
    [{ config_path: 'recipe.yaml' }, 'Copy the items of its `process` to operators'],
  ])('is refused where it cannot run: %j', async (over, message) => {
    const all = { inputs: ['tasks.jsonl'], priority_weights: null, ...over };
    await expect(planOf({ data_processor: { task_pipeline: all } })).rejects.toThrow(message);
  });

  it('says that answers of its model are cut off', async () => {
    finish = 'length';
    const { error, output } = await start('cut');
    finish = 'stop';
    expect(error).toBeUndefined();
    expect(output).toMatch(/\d+ answers to llm_difficulty_score_filter were cut off/);
  });

  it('stops where its model fails from the start', async () => {
    workspace.write('fours.jsonl', '{"question":"4+4=","answer":"8"}\n');
    const { error } = await start('fails', {
      data_processor: { task_pipeline: { ...pipeline, inputs: ['fours.jsonl'] } },
    });
    expect(error?.message).toContain('1 call of its model failed, for row 0. The last one: ');
    rmSync(job('fails'), { recursive: true });
  });
});
