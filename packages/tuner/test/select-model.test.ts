import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  avgTimeJudge,
  avgTokenConsumptionJudge,
  selectModel,
  type JudgeInput,
  type MeasuredResponse,
  type WorkflowInput,
} from '../src/index.js';
import { tinyModel, tinyWorld } from './tiny.js';

interface Row {
  readonly question: string;
  readonly answer: string;
}

const local = (modelPath: string, maxTokens: number) => ({ modelPath, maxModelLen: 32, maxTokens });

async function solve({ task, model }: WorkflowInput<Row>) {
  const [answer] = await model.chat([{ role: 'user', content: task.question }], {
    minTokens: 3,
    maxTokens: 3,
  });
  return { response: answer!.responseText };
}

describe('selectModel', () => {
  let world: Awaited<ReturnType<typeof tinyWorld>>;
  let here: (name: string) => string;
  beforeAll(async () => {
    world = await tinyWorld();
    here = (name) => path.join(world.cwd, name);
    await tinyModel(here('other'), 2);
  });
  afterAll(() => rmSync(world.cwd, { recursive: true, force: true }));
  const trainDataset = () => ({ path: here('my_dataset') });

  it('takes the model with the best mean reward, counts rows that fail, and gives means of all metrics', async () => {
    const judgeFunc = ({ task, response }: JudgeInput<Row, MeasuredResponse<string>>) => {
      if (task.question === '0+1') throw new Error('no such row');
      return { reward: response.metrics['output_tokens']!, metrics: { own: 5 } };
    };
    let calls = 0;
    const workflowFunc = async (input: WorkflowInput<Row>) => {
      const output = await solve(input);
      // The second model asks twice: more tokens, which this judge likes.
      if (input.model.modelPath.endsWith('other')) await solve(input);
      calls++;
      return output;
    };
    const selected = await selectModel({
      workflowFunc,
      judgeFunc,
      trainDataset: trainDataset(),
      candidateModels: [local(here('model'), 8), local(here('other'), 8)],
    });
    expect(selected.model.modelPath).toBe(here('other'));
    expect(calls).toBe(8);
    expect(selected.candidates).toMatchObject([
      { reward: 3, failedRows: 1 },
      { reward: 6, failedRows: 1 },
    ]);
    expect(selected.metrics).toMatchObject({
      own_avg: 5,
      input_tokens_avg: 8,
      output_tokens_avg: 6,
      total_tokens_avg: 14,
    });
    expect(selected.metrics['execution_time_avg']).toBeGreaterThanOrEqual(0);
  });

  it('gives the judge and every retry a row that the workflow has not edited', async () => {
    const seen: string[] = [];
    const workflowFunc = async (input: WorkflowInput<{ question: string; answer: string }>) => {
      seen.push(input.task.question);
      const output = await solve(input);
      input.task.question = 'edited';
      return output;
    };
    const judgeFunc = ({ task }: JudgeInput<{ question: string }, MeasuredResponse<string>>) => {
      seen.push(task.question);
      task.question = 'edited';
      return { reward: 1 };
    };
    const model = local(here('model'), 8);
    await selectModel({
      workflowFunc,
      judgeFunc,
      trainDataset: trainDataset(),
      candidateModels: [model, model],
    });
    expect(seen.length).toBeGreaterThan(4);
    expect(seen).not.toContain('edited');
  });

  it('runs candidates behind a service too, and chooses the cheaper one by tokens', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    const body = {
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '4' } }],
      usage,
    };
    const server = createServer((_, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body)),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    try {
      const candidateModels = [local(here('model'), 8), { ...local('remote', 8), baseUrl }];
      const options = {
        workflowFunc: solve,
        trainDataset: { ...trainDataset(), totalSteps: 2 },
        candidateModels,
      };
      const selected = await selectModel({ ...options, judgeFunc: avgTokenConsumptionJudge });
      expect(selected.model.modelPath).toBe('remote');
      expect(selected.candidates.map(({ reward }) => reward)).toEqual([-7, -2]);
      expect((await selectModel({ ...options, judgeFunc: avgTimeJudge })).candidates).toHaveLength(
        2,
      );
    } finally {
      server.close();
    }
  });

  it('rejects a single candidate, and names the first error when no row succeeded', async () => {
    const judgeFunc = () => ({ reward: 1 });
    const options = {
      judgeFunc,
      trainDataset: trainDataset(),
      candidateModels: [local(here('model'), 8)],
    };
    await expect(selectModel({ ...options, workflowFunc: solve })).rejects.toThrow(
      'got 1 candidate models; expected at least two',
    );
    const candidateModels = [local(here('model'), 8), local(here('other'), 8)];
    const broken = selectModel({
      ...options,
      candidateModels,
      workflowFunc: () => Promise.reject(new Error('broken agent')),
    });
    await expect(broken).rejects.toThrow(/every row failed[\s\S]*broken agent/);
  });
});
