/** Tests the official Python library as the other side: its server with our client, its client with our server. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type RawTask, silentLogger, systemClock } from '@trinity-rft/core';
import { findPython, freePort, runPython } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { serveEnvironment } from '../../src/drivers/openenv-server/serve.js';
import { box, corridor } from '../../src/drivers/openenv/corridor.fixture.js';
import { openenv } from '../../src/drivers/openenv/openenv.js';

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const { signal } = new AbortController();
const startMs = 120_000;
let program: string | undefined;
let server: ChildProcess | undefined;
let url = '';

async function waitUntilHealthy(): Promise<void> {
  const until = systemClock.now() + startMs;
  while (systemClock.now() < until) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return;
    await systemClock.sleep(200);
  }
  throw new Error(`The OpenEnv server did not start within ${startMs} ms.`);
}

beforeAll(async () => {
  const python = await findPython(['openenv==0.10.0']);
  if ('missing' in python) return;
  program = python.program;
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  server = spawn(program, [script('sums.py'), String(port)], { stdio: 'ignore' });
  await waitUntilHealthy();
}, 1_200_000);

afterAll(() => server?.kill('SIGKILL'));

const python = (context: TestContext): string => {
  if (program === undefined) return context.skip('no Python with openenv');
  return program;
};

describe('OpenEnv in Python', { tags: ['external'] }, () => {
  it('plays tasks of its split for evaluations for generated rows', async (context) => {
    python(context);
    const environment = await openenv.open({ url }, { logger: silentLogger, signal });
    const begin = async (row: RawTask) => {
      const episode = await environment.reset({ row, seed: 1 }, signal);
      await episode.close();
      return episode.observation;
    };
    const rowsOf = (split: 'train' | 'eval') =>
      (openenv.tasks?.({ split, count: 3, seed: 1 }, { url }) ?? []) as readonly {
        readonly reset: { readonly seed: number };
      }[];
    for (const [index, row] of rowsOf('eval').entries()) {
      const { seed } = row.reset;
      const listed = { split: 'test', index };
      expect(await begin(row)).toBe(await begin({ ...listed, reset: { seed } }));
      expect(await begin(row)).not.toBe(await begin({ reset: { seed } }));
    }
    for (const row of rowsOf('train')) expect(await begin(row)).toMatch(/ \+ /);
    await environment.close();
  });

  it('is played by our client: eight episodes at once on four places, then it is killed', async (context) => {
    python(context);
    const options = { url, max_connections: 8 };
    const environment = await openenv.open(options, { logger: silentLogger, signal });
    const sums = async (seed: number): Promise<number> => {
      const episode = await environment.reset({ row: {}, seed }, signal);
      let [reward, observation] = [0, episode.observation];
      for (let done = false; !done;) {
        const total = observation.split(' + ').reduce((sum, part) => sum + Number(part), 0);
        const result = await episode.step({ type: 'text', text: String(total) }, signal);
        reward += result.reward ?? 0;
        ({ observation, done } = result);
      }
      await episode.close();
      return reward;
    };
    const rewards = await Promise.all(Array.from({ length: 8 }, (_, seed) => sums(seed % 3)));
    for (const reward of rewards) expect(reward).toBeCloseTo(1);
    const episode = await environment.reset({ row: {}, seed: 9 }, signal);
    server?.kill('SIGKILL');
    const step = episode.step({ type: 'text', text: '1' }, signal);
    await expect(step).rejects.toMatchObject({ code: 'ENVIRONMENT_CLOSED' });
    await environment.close();
  });

  it('plays our server with its own client', async (context) => {
    const servers = await Promise.all(
      [corridor, box].map((definition) => serveEnvironment({ definition })),
    );
    try {
      const urls = servers.map((served) => served.url);
      const seen = await runPython(python(context), [script('play.py'), ...urls]);
      expect(seen).toEqual([
        ['2 steps to the goal', null, false],
        ['no such step', null, false],
        ['1 steps to the goal', 0, false],
        ['0 steps to the goal', 1, true],
        3,
        ['A box.', null, false],
        ['look', 'say'].toSorted(),
        ['Right.', 1, true],
      ]);
    } finally {
      for (const served of servers) await served.close();
    }
  });
});
