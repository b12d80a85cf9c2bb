import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { type Clock, silentLogger, systemClock } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  avgTimeJudge,
  avgTokenConsumptionJudge,
  comparePromptAndWeights,
  renderPromptAndWeights,
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

/**
 * Starts a service that gives the answer 4, with `more` in the response. A path in `by` has its own
 * addition.
 */
async function service(more: object, by: Readonly<Record<string, object>> = {}) {
  const message = { role: 'assistant', content: '4' };
  const body = { choices: [{ index: 0, finish_reason: 'stop', message }] };
  const server = createServer(({ url = '' }, response) =>
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ ...body, ...(by[url] ?? more) })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

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

  it.each([
    ['folder', { modelPath: 'gone' }, 'gone'],
    ['length', { maxModelLen: -1 }, 'maxModelLen'],
  ])('runs no row if the %s of a later model is wrong', async (_, wrong, message) => {
    let calls = 0;
    const workflowFunc = () => {
      calls++;
      return { response: '' };
    };
    const judgeFunc = () => ({ reward: 1 });
    const [good, bad] = [local(here('model'), 8), { ...local(here('model'), 8), ...wrong }];
    const texts = { base: { components: {}, model: good }, prompt: {} };
    for (const result of [
      selectModel({
        workflowFunc,
        judgeFunc,
        trainDataset: trainDataset(),
        candidateModels: [good, bad],
      }),
      comparePromptAndWeights({
        workflowFunc,
        judgeFunc,
        evalDataset: trainDataset(),
        ...texts,
        weights: bad,
      }),
    ])
      await expect(result).rejects.toThrow(message);
    expect(calls).toBe(0);
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
    const { baseUrl, server } = await service({
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    });
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

  it('returns no API key, and counts a call with several choices once, local or remote', async () => {
    const choice = { finish_reason: 'stop', message: { role: 'assistant', content: '4' } };
    const { baseUrl, server } = await service({
      choices: [0, 1, 2].map((index) => ({ index, ...choice })),
      usage: { prompt_tokens: 4, completion_tokens: 9 },
    });
    const selected = await selectModel({
      trainDataset: { ...trainDataset(), totalSteps: 1 },
      candidateModels: [
        local(here('model'), 8),
        { ...local('remote', 8), baseUrl, apiKey: 'sk-of-mine' },
      ],
      workflowFunc: async ({ task, model }: WorkflowInput<Row>) => {
        const call = { n: 3, minTokens: 3, maxTokens: 3 };
        await model.chat([{ role: 'user', content: task.question }], call);
        return { response: model.modelPath === 'remote' };
      },
      judgeFunc: ({ response }) => ({ reward: response.response ? 1 : 0 }),
    });
    server.close();
    expect(selected.model).toMatchObject({ modelPath: 'remote', baseUrl });
    expect(JSON.stringify(selected)).not.toContain('sk-of-mine');
    const cost = { model_calls_avg: 1, input_tokens_avg: 4, output_tokens_avg: 9 };
    expect(selected.candidates).toMatchObject([{ metrics: cost }, { metrics: cost }]);
  });

  it('repeats calls that a rate limit refuses, as often as an external model', async () => {
    let refused = 0;
    const server = createServer((_, response) => {
      if (refused++ < 8) return response.writeHead(429, { 'retry-after-ms': '1' }).end();
      const choices = [{ index: 0, message: { role: 'assistant', content: '4' } }];
      return response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ choices }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const selected = await selectModel({
      trainDataset: { ...trainDataset(), totalSteps: 1 },
      candidateModels: ['a', 'b'].map((name) => ({ ...local(name, 8), baseUrl })),
      workflowFunc: solve,
      judgeFunc: () => ({ reward: 1 }),
    });
    server.close();
    expect(selected.candidates).toMatchObject([{ failedRows: 0 }, { failedRows: 0 }]);
  });

  it('takes no calls that it did not see, and no unreported tokens, for free ones', async () => {
    const { server, baseUrl } = await service({});
    const ask = (url: string) => fetch(`${url}/chat/completions`, { method: 'POST', body: '{}' });
    const options = {
      trainDataset: { ...trainDataset(), totalSteps: 1 },
      candidateModels: ['a', 'b'].map((name) => ({ ...local(name, 8), baseUrl })),
    };
    const unseen = {
      adapter: (endpoint: AgentEndpoint) => endpoint.agentscope().baseURL,
      workflowFunc: async ({ model }: WorkflowInput<Row, string>) => {
        await ask(model);
        return { response: '' };
      },
    };
    try {
      for (const agent of [
        { ...options, ...unseen },
        { ...options, workflowFunc: solve },
      ])
        await expect(
          selectModel({ ...agent, judgeFunc: avgTokenConsumptionJudge } as never),
        ).rejects.toThrow(/every row failed[^]*no metric "total_tokens"/);
      const judgeFunc = () => ({ reward: 1 });
      const { metrics } = await selectModel({ ...options, ...unseen, judgeFunc });
      expect(Object.keys(metrics)).toEqual(['execution_time_avg']);
      const [base] = options.candidateModels;
      const report = await comparePromptAndWeights({
        workflowFunc: solve,
        judgeFunc,
        evalDataset: options.trainDataset,
        base: { components: { system: 'x' }, model: base! },
        prompt: { system: 'y' },
        weights: base!,
        prices: { prefill: 1, sample: 1 },
      });
      expect(report.variants[0]!.cost).toEqual({ calls: 1, seconds: expect.any(Number) as number });
      expect(renderPromptAndWeights(report)).toMatch(/\| 1 \|  \|  \| \d/);
      const failed = await comparePromptAndWeights({
        workflowFunc: () => Promise.reject(new Error('broken agent')),
        judgeFunc,
        evalDataset: options.trainDataset,
        base: { components: {}, model: base! },
        prompt: {},
        weights: base!,
        prices: { prefill: 1, sample: 1 },
      });
      expect(failed.variants[0]).toMatchObject({ failedRows: 1, cost: { seconds: 0 } });
      expect(failed.variants[0]!.cost).not.toHaveProperty('dollars');
      expect(failed.variants[0]!.cost.calls).toBeUndefined();
    } finally {
      server.close();
    }
  });

  it('counts only calls of the model, not the list of models that an agent asks for', async () => {
    const { server, baseUrl } = await service({
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    });
    let row = 0;
    try {
      const { metrics } = await selectModel({
        trainDataset: trainDataset(),
        candidateModels: ['a', 'b'].map((name) => ({ ...local(name, 8), baseUrl })),
        adapter: (endpoint: AgentEndpoint) => endpoint,
        workflowFunc: async ({ model }) => {
          const { baseURL, fetch } = model;
          await fetch(`${baseURL}/models`);
          const url = `${baseURL}/chat/completions`;
          const init = { method: 'POST', body: '{}' };
          await (row++ % 2 ? fetch(url, init) : fetch(new Request(url, init)));
          return { response: '' };
        },
        judgeFunc: () => ({ reward: 1 }),
      });
      expect(metrics).toMatchObject({ model_calls_avg: 1, total_tokens_avg: 2 });
    } finally {
      server.close();
    }
  });

  it.each([
    ['in the spelling of Responses', { input_tokens: 5, output_tokens: 2 }, 'small'],
    [
      'in the spelling of Messages with a cache',
      { input_tokens: 1, cache_read_input_tokens: 4, output_tokens: 2 },
      'small',
    ],
    ['of embeddings, which have no output', { prompt_tokens: 7, total_tokens: 7 }, 'small'],
    ['not at all, if one is missing', { input_tokens: 5 }, undefined],
  ])('counts tokens %s', async (_, usage, chosen) => {
    const { server, baseUrl } = await service(
      { usage },
      { '/v1/big/responses': { usage: { input_tokens: 5000, output_tokens: 900 } } },
    );
    const selected = selectModel({
      trainDataset: { ...trainDataset(), totalSteps: 1 },
      candidateModels: [
        { ...local('big', 8), baseUrl: `${baseUrl}/big` },
        { ...local('small', 8), baseUrl },
      ],
      adapter: (endpoint: AgentEndpoint) => endpoint,
      workflowFunc: async ({ model: { baseURL, fetch } }) => {
        await fetch(`${baseURL}/responses`, { method: 'POST', body: '{}' });
        return { response: '' };
      },
      judgeFunc: avgTokenConsumptionJudge,
    });
    const rewards = (await selected).candidates.map(({ reward }) => reward);
    expect([(await selected).model.modelPath, rewards]).toEqual(
      chosen === undefined ? ['big', [-5900, undefined]] : ['small', [-5900, -7]],
    );
    server.close();
  });

  it('starts no row after an abort, and rejects when those in progress have ended', async () => {
    const abort = new AbortController();
    let [started, ended] = [0, 0];
    const workflowFunc = async ({ signal }: WorkflowInput<Row>) => {
      if (++started === 3) abort.abort(new Error('stop'));
      await new Promise((resolve) => setTimeout(resolve, started * 10));
      ended++;
      signal.throwIfAborted();
      return { response: '' };
    };
    const candidateModels = ['a', 'b'].map((name) => ({
      ...local(name, 8),
      baseUrl: 'http://127.0.0.1:9/v1',
    }));
    const options = { candidateModels, trainDataset: trainDataset(), signal: abort.signal };
    const selected = selectModel({ ...options, workflowFunc, judgeFunc: () => ({ reward: 1 }) });
    await expect(selected).rejects.toThrow('stop');
    expect([started, ended]).toEqual([3, 3]);
  });

  it('abandons a judge that does not end after an abort', async () => {
    const abort = new AbortController();
    const graces: number[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (ms, end) => {
        if (!abort.signal.aborted) return () => undefined;
        graces.push(ms);
        return systemClock.after(1, end);
      },
    };
    const { server, baseUrl } = await service({});
    const judged: boolean[] = [];
    const selected = selectModel({
      ...{ clock, signal: abort.signal, trainDataset: trainDataset(), workflowFunc: solve },
      candidateModels: ['a', 'b'].map((name) => ({ ...local(name, 8), baseUrl })),
      judgeFunc: ({ signal }) => {
        abort.abort(new Error('stop'));
        judged.push(signal.aborted);
        return new Promise<never>(() => undefined);
      },
    });
    await expect(selected).rejects.toThrow('stop');
    expect([graces, judged]).toEqual([[5000], [true]]);
    server.close();
  });

  it.each(['agent', 'grade'])(
    'says that it waits for a row, and gives up a hanging %s after an hour',
    async (hangs) => {
      const clock = manualClock();
      const [lines, warnings]: [string[], string[]] = [[], []];
      let hasHung = false;
      const called = Promise.withResolvers<AbortSignal>();
      const maybeHang = async (name: string, signal: AbortSignal): Promise<void> => {
        if (name !== hangs || hasHung) return;
        hasHung = true;
        called.resolve(signal);
        await new Promise<never>(() => undefined);
      };
      const candidateModels = ['a', 'b'].map((name) => ({
        ...local(name, 8),
        baseUrl: 'http://127.0.0.1:9/v1',
      }));
      const selected = selectModel({
        ...{ clock, candidateModels, trainDataset: { ...trainDataset(), totalSteps: 1 } },
        logger: {
          ...silentLogger,
          info: (line) => void lines.push(line),
          warn: (line) => void warnings.push(line),
        },
        workflowFunc: async function agent({ signal }) {
          await maybeHang('agent', signal);
          return { response: '' };
        },
        judgeFunc: async function grade({ signal }) {
          await maybeHang('grade', signal);
          return { reward: 1 };
        },
      });
      const signal = await called.promise;
      await clock.advance(5000);
      expect(lines).toEqual(['Waiting for 1 of 1 rows (5 s until now).']);
      await clock.advance(3_595_000);
      expect(signal.aborted).toBe(true);
      expect((await selected).candidates).toMatchObject([{ failedRows: 1 }, { failedRows: 0 }]);
      expect(warnings.join('\n')).toContain(`${hangs} on row 0 did not end within 3600 s`);
    },
  );

  it('logs one wait for all rows of a candidate, and leaves no timer after an abort', async () => {
    const abort = new AbortController();
    const clock = manualClock();
    const lines: string[] = [];
    let started = 0;
    const ended = Promise.withResolvers<void>();
    const hanging = Promise.withResolvers<void>();
    const candidateModels = ['a', 'b'].map((name) => ({
      ...local(name, 8),
      baseUrl: 'http://127.0.0.1:9/v1',
    }));
    const selected = selectModel({
      ...{ clock, candidateModels, trainDataset: trainDataset(), signal: abort.signal },
      logger: { ...silentLogger, info: (line) => void lines.push(line) },
      workflowFunc: async () => {
        started++;
        if (started === 3) hanging.resolve();
        await (started === 1 ? ended.promise : new Promise<never>(() => undefined));
        return { response: '' };
      },
      judgeFunc: () => ({ reward: 1 }),
    });
    void selected.catch(() => undefined);
    ended.resolve();
    await hanging.promise;
    await clock.advance(10_000);
    expect(lines).toEqual([5, 10].map((s) => `Waiting for 3 of 4 rows (${s} s until now).`));
    abort.abort(new Error('stop'));
    await clock.advance(5000);
    await expect(selected).rejects.toThrow('stop');
    expect(await clock.advanceToNext()).toBe(false);
  });

  it('ends the calls of the model when a row is given up', async () => {
    const clock = manualClock();
    const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const server = createServer(({ url }, response) => {
      if (url?.startsWith('/v1/b/')) return void response.writeHead(500).end();
      response.on('close', () => gone.resolve());
      asked.resolve();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const selected = selectModel({
      ...{ clock, trainDataset: { ...trainDataset(), totalSteps: 1 } },
      candidateModels: ['a', 'b'].map((name) => ({
        ...local(name, 8),
        baseUrl: `${root}/${name}`,
      })),
      workflowFunc: async (input: WorkflowInput<Row>) =>
        input.model.modelPath === 'a' ? solve(input) : { response: '' },
      judgeFunc: () => ({ reward: 1 }),
    });
    await asked.promise;
    await clock.advance(3_600_000);
    await gone.promise;
    expect((await selected).candidates).toMatchObject([{ failedRows: 1 }, { failedRows: 0 }]);
    server.close();
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
