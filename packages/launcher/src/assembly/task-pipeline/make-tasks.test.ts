import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serialize } from 'node:v8';
import type { StageConfig } from '@trinity-rft/config';
import { testRuntime } from '@trinity-rft/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { withMadeTasks, type Making } from './make-tasks.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-make-tasks-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, answer: number): void =>
  writeFileSync(path.join(folder, name), `${JSON.stringify({ prompt: '1+1?', answer })}\n`);

/** Makes the tasks. Returns the answer of the first task. */
async function answerOf(inputs: readonly string[], hasBegun: boolean): Promise<unknown> {
  const taskset = {
    name: 'sums',
    path: path.join(folder, 'tasks.jsonl'),
    storageType: 'file',
    split: 'train',
    format: { promptKey: 'prompt', responseKey: 'answer' },
  };
  const taskPipeline = {
    operators: [],
    inputs: inputs.map((name) => ({ path: path.join(folder, name) })),
    targetFields: [],
    priorityWeights: {},
    numProcess: 1,
  };
  const stage = {
    jobDirectory: path.join(folder, 'job'),
    dataProcessor: { taskPipeline },
    explorer: { auxiliaryModels: [] },
    buffer: { explorerInput: { tasksets: [taskset] } },
  } as unknown as StageConfig;
  const { signal } = new AbortController();
  const extensions = {} as Making['extensions'];
  const say = (): void => undefined;
  const making = { stage, extensions, runtime: testRuntime(), say, signal, env: {} };
  const made = await withMadeTasks(making, hasBegun);
  const [first] = made.buffer.explorerInput.tasksets;
  return (JSON.parse(readFileSync(first?.path ?? '', 'utf8')) as { answer: unknown }).answer;
}

it.each([
  { what: 'the file of the task set', file: 'tasks.jsonl', inputs: [] },
  { what: 'an input of the pipeline', file: 'input.jsonl', inputs: ['input.jsonl'] },
])('makes the tasks anew if $what is corrected before the run begins', async (given) => {
  write(given.file, 3);
  expect(await answerOf(given.inputs, false)).toBe(3);
  write(given.file, 2);
  expect(await answerOf(given.inputs, false)).toBe(2);
});

it('keeps the tasks of a run that has begun', async () => {
  write('tasks.jsonl', 3);
  await answerOf([], false);
  write('tasks.jsonl', 2);
  expect(await answerOf([], true)).toBe(3);
  rmSync(path.join(folder, 'tasks.jsonl'));
  expect(await answerOf([], true)).toBe(3);
});

it('keeps tasks whose rows have the digest of an earlier version', async () => {
  write('tasks.jsonl', 3);
  await answerOf([], false);
  const list = path.join(folder, 'job/task_pipeline/sums.json');
  const stored = JSON.parse(readFileSync(list, 'utf8')) as object;
  const source = {
    file: path.join(folder, 'tasks.jsonl'),
    split: 'train',
    promptKey: 'prompt',
    responseKey: 'answer',
  };
  const made = { operators: [], inputs: [], targetFields: [], priorityWeights: {} };
  const rows = hash('sha256', serialize({ prompt: '1+1?', answer: 3 }), 'hex');
  const settings = hash('sha256', JSON.stringify([source, made, [], rows]), 'hex');
  writeFileSync(list, JSON.stringify({ ...stored, settings }));
  await answerOf([], false);
  expect(JSON.parse(readFileSync(list, 'utf8'))).toMatchObject({ settings });
});
