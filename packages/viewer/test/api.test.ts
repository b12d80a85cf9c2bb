import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { openWorkbench, saying, type Workbench } from './support.js';

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
    readonly uid: string;
    readonly reward: number;
    readonly trainStep?: number;
  }[];
  readonly matching: number;
  readonly total: number;
}

const list = async (query: string): Promise<Page> =>
  (await bench.api(`stores/0/rows?${query}`)).body as Page;

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
    ['batch=&minReward=x&sort=uid', 120],
    ['batch=%27%20OR%201%3D1', 0],
  ])('filters by %s', async (query, expected) => {
    expect((await list(query)).matching).toBe(expected);
  });

  it('sorts either way and keeps the order of the store between equals', async () => {
    const { rows } = await list('sort=reward&descending=true&size=120');
    const rewards = rows.map(({ reward }) => reward);
    expect(rewards).toEqual(rewards.toSorted((a, b) => b - a));
    expect(rows.slice(0, 3).map(({ id }) => id)).toEqual([5, 10, 15]);
  });

  it('gives every token with its text, mask and log-probability', async () => {
    const { body } = await bench.api('stores/0/rows/12');
    expect(body).toMatchObject({
      uid: '1/11/3/0/',
      promptLength: 5,
      reward: 0.25,
      info: { finishReason: 'stop' },
    });
    const { tokens } = body as { tokens: { text: string; mask?: number; logprob?: number }[] };
    expect(tokens.map(({ text }) => text).join('')).toBe('11+1=12');
    expect(tokens.slice(5)).toMatchObject([
      { mask: 1, logprob: 0 },
      { mask: 1, logprob: -0.25 },
    ]);
    expect(tokens[0]).not.toHaveProperty('logprob');
  });

  it('shows ids where there is no tokenizer', async () => {
    const { api } = await openWorkbench([saying('a', 'b')], false);
    expect((await api('stores/0/rows/1')).body).toMatchObject({
      responseText: 'b',
      tokens: [{ text: null }, { text: null }],
    });
  });

  it.each(['stores/1/rows', 'stores/x/rows', 'stores/0/rows/99999', 'stores/0/rows/x', 'nothing'])(
    'has nothing at %s',
    async (path) => {
      expect((await bench.api(path)).status).toBe(404);
    },
  );

  it('follows a run that continues', async () => {
    const { api, store } = await openWorkbench([saying('a', 'b', { eid: { step: 0 } })]);
    expect((await api('stores/0/rows')).body).toMatchObject({ total: 1 });
    await store.put([
      saying('c', 'd', { eid: { step: 1 } }),
      saying('e', 'f', { eid: { step: 2 } }),
    ]);
    const lease = await store.take(1);
    await lease!.acknowledge(4);
    expect((await api('stores/0/rows')).body).toMatchObject({
      total: 3,
      rows: [{ trainStep: 4, dropped: false }, {}, {}],
    });
  });
});

describe('the server', () => {
  it('gives data only to those who have the key', async () => {
    const { origin } = new URL(bench.viewer.url);
    for (const authorization of [
      undefined,
      'Bearer x',
      `Bearer ${bench.viewer.key}x`,
      bench.viewer.key,
    ]) {
      const response = await fetch(`${origin}/api/stores`, {
        ...(authorization !== undefined && { headers: { authorization } }),
      });
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain('store.db');
    }
  });

  it('rejects other names for this machine, so that no other site can ask', async () => {
    const { port } = new URL(bench.viewer.url);
    const status = await new Promise((resolve) => {
      request(
        { port, host: '127.0.0.1', path: '/', headers: { host: 'evil.example' } },
        (response) => resolve(response.statusCode),
      ).end();
    });
    expect(status).toBe(403);
  });

  it('serves one page without data, whose policy lets only its own files act', async () => {
    const { origin } = new URL(bench.viewer.url);
    const response = await fetch(origin);
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'; script-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const html = await response.text();
    expect(html).not.toContain(bench.viewer.key);
    expect(html).not.toMatch(/<script(?! type="module" src="client.js")| on\w+=| style=/);
    const client = await (await fetch(`${origin}/client.js`)).text();
    expect(client).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b/);
    expect((await fetch(`${origin}/client.js`)).headers.get('content-type')).toContain(
      'text/javascript',
    );
    expect((await fetch(`${origin}/nothing`)).status).toBe(404);
  });
});
