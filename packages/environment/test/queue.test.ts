/** Tests that the wait for a free place does not count as time of the environment. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RawTask, silentLogger, systemClock } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { onTestFinished, expect, it } from 'vitest';
import { corridor } from '../src/drivers/openenv/corridor.fixture.js';
import { createSlots } from '../src/drivers/shared/slots.js';
import { pythonArgs } from '../src/drivers/python/args.js';
import { openBridged } from '../src/drivers/python/python.js';
import {
  openenv,
  serveEnvironment,
  type Environment,
  type EnvironmentDefinition,
} from '../src/index.js';
import { beginEpisode, type GuardedEpisode, type GuardOptions } from '../src/playing.js';
import { broken } from '../src/waiting/within.js';

const { signal } = new AbortController();
const context = { logger: silentLogger, signal };
const go = { type: 'text', text: 'right' } as const;

async function served(definition: EnvironmentDefinition, limits: object = {}): Promise<string> {
  const server = await serveEnvironment({ definition, ...limits });
  onTestFinished(() => server.close());
  return server.url;
}

async function client(url: string, args: object = {}): Promise<Environment> {
  const environment = await openenv.open({ url, ...args }, context);
  onTestFinished(() => environment.close());
  return environment;
}

const play = (
  environment: Environment,
  { row = {}, ...guard }: Partial<GuardOptions> & { readonly row?: RawTask } = {},
): Promise<GuardedEpisode> =>
  beginEpisode(
    environment,
    { row, seed: 1 },
    { name: 'x', timeoutMs: 20_000, clock: systemClock, logger: silentLogger, signal, ...guard },
  );

/** Waits until everything that needs no timer is done. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

it('waits for one of the connections to an OpenEnv server', async () => {
  const environment = await client(await served(corridor), { max_connections: 1 });
  const clock = manualClock();
  const first = await play(environment, { clock });
  const second = play(environment, { clock });
  await settled();
  await clock.advance(600_000);
  await first.close();
  expect((await second).waitedMs()).toBe(600_000);
});

it('waits for a place at an OpenEnv server', async () => {
  const url = await served(corridor, { maxConcurrentEnvs: 1 });
  const other = await client(url);
  const first = await other.reset({ row: {}, seed: 1 }, signal);
  const second = play(await client(url), { timeoutMs: 900 });
  setTimeout(() => void first.close().then(() => other.close()), 1500);
  expect(await second).toMatchObject({ observation: expect.any(String) as string });
});

it('waits for earlier calls of a Python process, at a reset and at a step', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'queue-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const until = path.join(folder, 'go-on');
  const standIn = fileURLToPath(new URL('python/stand-in.mjs', import.meta.url));
  const program = { command: process.execPath, args: [standIn] };
  const args = pythonArgs.parse({ kind: 'a:b' });
  const environment = await openBridged(args, program, signal);
  onTestFinished(() => environment.close());
  const clock = manualClock();
  const [first, second] = await Promise.all([
    play(environment, { row: { fault: { until } } }),
    play(environment, { clock }),
  ]);
  const [slow, step, third] = [first.step(go), second.step(go), play(environment, { clock })];
  await settled();
  await clock.advance(600_000);
  await writeFile(until, '');
  expect(await slow).toMatchObject({ done: true });
  expect(await step).toMatchObject({ observation: 'right' });
  expect((await third).waitedMs()).toBe(600_000);
});

it('serves an environment whose resets wait for a place', async () => {
  const slots = createSlots(1);
  const oneByOne: EnvironmentDefinition = {
    ...corridor,
    open: async (given, opened) => {
      const environment = await corridor.open(given, opened);
      const late = () => broken('ENVIRONMENT_CAPACITY', 'There is no place.');
      const reset: Environment['reset'] = async (start, aborted) => {
        const free = await slots.take(start, { ms: 60_000, signal: aborted }, late);
        return { ...(await environment.reset(start, aborted)), close: async () => free() };
      };
      return { ...environment, reset };
    },
  };
  const url = await served(oneByOne, { timeoutMs: 500 });
  const other = await client(url);
  await other.reset({ row: {}, seed: 1 }, signal);
  setTimeout(() => void other.close(), 900);
  expect(await play(await client(url))).toMatchObject({
    observation: expect.any(String) as string,
  });
});
