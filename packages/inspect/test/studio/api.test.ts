import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { openStudio } from '../../src/studio/index.js';
import { openApi } from '../../src/studio/interface/openapi.js';
import { actions, routes } from '../../src/studio/interface/routes.js';
import * as schemas from '../../src/studio/interface/schemas.js';
import { openWorkbench, polled, runId, saying, type Workbench } from './support.js';

const run = `runs/${encodeURIComponent(runId)}`;

let bench: Workbench;

const sums = Array.from({ length: 120 }, (_, i) =>
  saying(`${i}+1=`, String(i + 1), {
    eid: { batch: 1 + Math.floor(i / 40), task: i % 40, run: i % 4 },
    policyVersion: Math.floor(i / 40),
    reward: (i % 5) / 4,
    info: { finishReason: i % 3 === 0 ? 'length' : 'stop' },
  }),
);

beforeAll(async () => {
  bench = await openWorkbench(sums);
});

interface Page {
  readonly rows: readonly {
    readonly id: number;
    readonly reward: number;
  }[];
  readonly matching: number;
  readonly total: number;
  readonly progress?: unknown;
}

const list = (query: string): Promise<Page> =>
  polled(async () => (await bench.api(`${run}/rollouts?${query}`)).body as Page);

describe('the JSON interface', () => {
  it('gives pages, never more than the largest', async () => {
    const first = await list('size=50');
    expect(first).toMatchObject({ matching: 120, total: 120 });
    expect(first.rows.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
    expect((await list('size=50&page=2')).rows.map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 101),
    );
    expect((await list('page=9')).rows).toEqual([]);
    expect((await list('size=1000000')).rows).toHaveLength(120);
    expect((await list('size=0&page=-1')).rows).toHaveLength(1);
  });

  it.each([
    ['batch=2', 40],
    ['batch=2&task=3', 1],
    ['run=1', 30],
    ['minReward=0.75', 48],
    ['minReward=0.25&maxReward=0.5', 48],
    ['text=119%2B1', 1],
    ['text=nowhere', 0],
    ['batch=&minReward=', 120],
    ['batch=%27%20OR%201%3D1', 0],
  ])('filters by %s', async (query, expected) => {
    expect((await list(query)).matching).toBe(expected);
  });

  it.each([
    [
      'rollouts?minReward=0,5',
      'The parameter minReward is "0,5"; expected a number. minReward: Least reward.',
    ],
    ['rollouts?minreward=1', 'There is no parameter "minreward" here; expected batch, task,'],
    ['settings?size=1', 'There is no parameter "size" here; expected none.'],
    ['curve?role=explorer&name=x&__proto__=1', 'There is no parameter "__proto__" here;'],
    ['rollouts?row=abc', 'The parameter row is "abc"; expected a number.'],
    ['rollouts?run=x', 'The parameter run is "x"; expected a number.'],
    ['rollouts?sort=nope', 'The parameter sort is "nope"; expected one of id, reward, advantage,'],
    ['rollouts?problem=none', 'expected one of any, failed, fault, truncated, dropped.'],
    ['tasks?size=many', 'The parameter size is "many"; expected a number.'],
    ['curve?role=explorer&name=x&axis=foo', 'expected one of step, time, tokens. axis: `step`'],
    ['curve?name=x', 'The parameter role is missing; expected a string.'],
    ['curve?role=explorer&name=x&points=1e', 'The parameter points is "1e"; expected a number.'],
    ['what-if?steps=abc', 'The parameter steps is "abc"; expected a number.'],
    ['what-if?lengthCost=0,01', 'The parameter lengthCost is "0,01"; expected a number.'],
    ['what-if?number=other', 'The parameter number is "other"; these rollouts have no numbers.'],
  ])('refuses %s', async (query, error) => {
    expect(await bench.api(`${run}/${query}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining(error) },
    });
  });

  it('sorts either way and keeps the order of the store between equals', async () => {
    const { rows } = await list('sort=reward&descending=true&size=120');
    const rewards = rows.map(({ reward }) => reward);
    expect(rewards).toEqual(rewards.toSorted((a, b) => b - a));
    expect(rows.slice(0, 3).map(({ id }) => id)).toEqual([5, 10, 15]);
  });

  it('gives every token with its text and log-probability', async () => {
    const { body } = await bench.api(`${run}/rollouts/12`);
    expect(body).toMatchObject({
      uid: '1/11/3/0/',
      promptLength: 5,
      reward: 0.25,
      info: { finishReason: 'stop' },
    });
    const conversation = (await bench.api(`${run}/rollouts/12/conversation`)).body;
    const [call] = schemas.conversation.parse(conversation).calls;
    expect(call?.segments).toEqual([
      { sampled: false, start: 0, ids: expect.anything(), texts: ['1', '1', '+', '1', '='] },
      {
        ...{ sampled: true, policyVersion: 0, start: 5, ids: expect.anything() },
        ...{ texts: ['1', '2'], logprobs: [0, -0.25] },
      },
    ]);
  });

  it('shows ids where there is no tokenizer', async () => {
    const { api } = await openWorkbench([saying('a', 'b')], false);
    expect((await api(`${run}/rollouts/1`)).body).toMatchObject({ responseText: 'b' });
    const { calls } = schemas.conversation.parse(
      (await api(`${run}/rollouts/1/conversation`)).body,
    );
    expect(calls[0]?.segments.map(({ ids, texts }) => [ids.length, texts])).toEqual([
      [1, undefined],
      [1, undefined],
    ]);
  });

  it.each([
    'runs/other/rollouts',
    'runs/..%2F..%2Fetc/metrics',
    'runs/..%2F..%2Fetc/settings',
    'runs/..%2F..%2Fetc/curve.csv?role=x&name=y',
    `${run}/marks?role=..%2F..`,
    `${run}/curve?role=explorer&name=__proto__`,
    `${run}/rollouts/99999`,
    `${run}/rollouts/x`,
    'nothing',
  ])('has nothing at %s', async (path) => {
    expect((await bench.api(path)).status).toBe(404);
  });

  it.each([
    ['runs/other/metrics', 'There is no run other.'],
    [`${run}/marks?role=unknown`, `${runId} has no metrics for role unknown.`],
    [`${run}/curve?role=explorer&name=loss`, `${runId} has no metric loss of the role explorer.`],
    [`${run}/rollouts/99999/trace`, `${runId} has no rollout with the row 99999.`],
  ])('names what is missing at %s', async (path, error) => {
    expect((await bench.api(path)).body).toEqual({ error: expect.stringContaining(error) });
  });

  it('follows a run that continues', async () => {
    const { api, store } = await openWorkbench([saying('a', 'b', { eid: { run: 0 } })]);
    expect((await api(`${run}/rollouts`)).body).toMatchObject({ total: 1 });
    await store.put([
      saying('c', 'd', { eid: { run: 0, step: 1 } }),
      saying('e', 'f', { eid: { run: 1 } }),
    ]);
    const lease = await store.take(1);
    await lease!.acknowledge(4);
    expect((await api(`${run}/rollouts`)).body).toMatchObject({
      total: 2,
      recorded: 3,
      rows: [{ trainStep: 4, turns: 2, answer: 'd' }, { turns: 1 }],
    });
    // A rollout is all model calls of an attempt.
    expect((await api(`${run}/diagnosis`)).body).toMatchObject({ rollouts: 2 });
    expect((await api('runs')).body).toMatchObject([{ modelCalls: 3 }]);
  });
});

describe('the server', () => {
  it('gives data only to those who have the key', async () => {
    const { origin } = new URL(bench.studio.url);
    for (const authorization of [
      undefined,
      'Bearer x',
      `Bearer ${bench.studio.key}x`,
      bench.studio.key,
    ]) {
      const response = await fetch(`${origin}/api/runs`, {
        ...(authorization !== undefined && { headers: { authorization } }),
      });
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain('store.db');
    }
  });

  it.each(['', 'short'])('is not opened with the key %j', async (key) => {
    await expect(openStudio({ runs: bench.root, key })).rejects.toThrow('expected at least 16');
  });

  const from = { 'sec-fetch-site': 'cross-site' };
  it.each([
    ['rejects other names for this machine', { host: 'evil.example' }, 403],
    ['rejects images of pages of other sites', { ...from, 'sec-fetch-mode': 'no-cors' }, 403],
    [
      'asks links of pages of other sites for the key',
      { ...from, 'sec-fetch-mode': 'navigate' },
      401,
    ],
    ['asks its own page for the key', { 'sec-fetch-site': 'same-origin' }, 401],
  ])('%s', async (_, headers, status) => {
    const { port } = new URL(bench.studio.url);
    const response = await new Promise<IncomingMessage>((resolve) => {
      request({ port, host: '127.0.0.1', path: '/api/runs', headers }, resolve).end();
    });
    response.resume();
    expect(response.statusCode).toBe(status);
  });

  it('rejects requests that a page of another site makes', async () => {
    const { origin } = new URL(bench.studio.url);
    const headers = { origin: 'http://evil.example', authorization: `Bearer ${bench.studio.key}` };
    expect((await fetch(`${origin}/api/runs`, { headers })).status).toBe(403);
  });

  it('allows its page nothing but its own files, whatever is asked for', async () => {
    const { origin } = new URL(bench.studio.url);
    for (const path of ['', 'nothing', 'api/runs']) {
      const { headers } = await fetch(`${origin}/${path}`);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
    }
  });
});

describe('notes of a run', () => {
  const notes = { tags: ['baseline', '<script>'], note: 'Longer answers from step 3 on.' };

  it('are written into its folder, by an action with the key only', async () => {
    const { root, studio, api } = await openWorkbench([saying('a', 'b')]);
    const act = (name: string, body: unknown, key = studio.key) =>
      fetch(new URL(`api/actions/${name}`, studio.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      });
    const place = `${run}/notes`;
    const file = path.join(root, runId, 'notes.json');
    expect((await act(place, notes, 'x')).status).toBe(401);
    expect((await act('runs/..%2F..%2Fetc/notes', notes)).status).toBe(404);
    const refused = await act(place, { tags: [''], note: '' });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: expect.stringContaining('tags.0') });
    expect(existsSync(file)).toBe(false);
    expect((await act(place, notes)).status).toBe(200);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(notes);
    expect((await api('runs')).body).toMatchObject([{ id: runId, notes }]);
    rmSync(file);
    mkdirSync(path.join(file, 'in the way'), { recursive: true });
    const unwritten = await act(place, notes);
    expect([unwritten.status, await unwritten.json()]).toEqual([
      400,
      { error: expect.stringContaining(`The notes cannot be written to ${file}: `) },
    ]);
  });
});

describe('runs and metrics', () => {
  const line = (step: number, reward: number): string =>
    `${JSON.stringify({ role: 'explorer', step, metrics: { 'rollout/reward/mean': reward, '=<script>': step }, timing: {} })}\n`;

  it('tell a run, its latest numbers and each change, to those who follow', async () => {
    const { root, studio, api } = await openWorkbench([saying('a', 'b')]);
    const monitor = path.join(root, runId, 'monitor');
    mkdirSync(monitor);
    const file = path.join(monitor, 'metrics.jsonl');
    writeFileSync(file, line(1, 0.25) + line(2, 0.5));
    const runs = schemas.runSummary.array().parse((await api('runs')).body);
    expect(runs).toMatchObject([{ id: runId, exploreStep: 2, reward: 0.5, modelCalls: 1 }]);

    const headers = { authorization: `Bearer ${studio.key}` };
    const response = await fetch(new URL('api/events', studio.url), { headers });
    const events: z.infer<typeof schemas.runEvent>[] = [];
    const reading = (async () => {
      for await (const text of response.body!.pipeThrough(new TextDecoderStream()))
        for (const [, data = ''] of text.matchAll(/^data: (.*)$/gm))
          events.push(schemas.runEvent.parse(JSON.parse(data)));
    })();
    await expect.poll(() => events.length).toBe(1);
    // A line that is still being written does not count.
    appendFileSync(file, line(3, 1) + line(4, 2).slice(0, 20));
    await expect.poll(() => events.at(-1)?.runs[0]).toMatchObject({ exploreStep: 3, reward: 1 });
    rmSync(path.join(root, runId), { recursive: true });
    await expect.poll(() => events.at(-1)?.gone).toEqual([runId]);
    await studio.close();
    await reading.catch(() => undefined);
  });

  it('give curves with the extremes of what is left out, and all points as CSV', async () => {
    const { root, studio, api } = await openWorkbench([saying('a', 'b')]);
    mkdirSync(path.join(root, runId, 'monitor'));
    const lines = Array.from({ length: 5000 }, (_, i) => line(i + 1, i === 2345 ? 9 : 0));
    writeFileSync(path.join(root, runId, 'monitor', 'metrics.jsonl'), lines.join(''));
    const query = 'role=explorer&name=rollout%2Freward%2Fmean';
    const { body } = await api(`${run}/curve?${query}&points=100`);
    const curve = schemas.curve.parse(body);
    expect(curve).toMatchObject({ points: 5000 });
    expect(curve.steps.length).toBeLessThanOrEqual(100);
    expect(curve.values[curve.steps.indexOf(2346)]).toBe(9);
    expect((await api(`${run}/curve?${query}&from=2340&to=2350`)).body).toMatchObject({
      x: [2340, 2341, 2342, 2343, 2344, 2345, 2346, 2347, 2348, 2349, 2350],
    });
    expect(schemas.metricList.parse((await api(`${run}/metrics`)).body)).toMatchObject({
      share: 1,
      metrics: [{ points: 5000, recent: { mean: 0, low: 0, high: 0, count: 20 } }, { last: 5000 }],
    });
    const csv = new URL(`api/${run}/curve.csv?role=explorer&name=%3D%3Cscript%3E`, studio.url);
    const headers = { authorization: `Bearer ${studio.key}` };
    const text = await (await fetch(csv, { headers })).text();
    // No spreadsheet takes the name for a formula.
    expect(text.split('\n').slice(0, 2)).toEqual([`step,"'=<script>"`, '1,1']);
  });
});

describe('the OpenAPI file', () => {
  it('is that of the code, whose answers are as it says', async () => {
    const file = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
    expect(JSON.parse(file)).toEqual(openApi(routes, actions));
    schemas.rolloutPage.parse((await bench.api(`${run}/rollouts`)).body);
    schemas.rolloutDetail.parse((await bench.api(`${run}/rollouts/1`)).body);
  });
});
